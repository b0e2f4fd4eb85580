import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Outcome, PoolModel, type Setup } from "../../../test/setup/pool-model.js";
import type { SandboxError } from "../../kit/errors.js";

const COMMANDS = {
  acquire: fc.record({
    act: fc.constant("acquire" as const),
    session: fc.constantFrom(undefined, undefined, "a", "b"),
    isOrder: fc.boolean(),
    isPatient: fc.boolean(),
  }),
  release: fc.record({ act: fc.constant("release" as const), which: fc.nat(), reusable: fc.boolean() }),
  answer: fc.record({
    act: fc.constant("answer" as const),
    which: fc.nat(),
    outcome: fc.constantFrom<Outcome[]>("good", "good", "good", "no", "failure"),
  }),
  crash: fc.record({ act: fc.constant("crash" as const), which: fc.nat() }),
  abort: fc.record({ act: fc.constant("abort" as const), which: fc.nat() }),
  pass: fc.record({
    act: fc.constant("pass" as const),
    ms: fc.constantFrom(1, 600, 1001, 6000, 31_000, 121_000),
  }),
  stop: fc.record({ act: fc.constant("stop" as const) }),
};

type Command = (typeof COMMANDS)[keyof typeof COMMANDS] extends fc.Arbitrary<infer T> ? T : never;

const commands = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: COMMANDS.acquire },
    { weight: 6, arbitrary: COMMANDS.release },
    { weight: 16, arbitrary: COMMANDS.answer },
    { weight: 2, arbitrary: COMMANDS.crash },
    { weight: 2, arbitrary: COMMANDS.abort },
    { weight: 2, arbitrary: COMMANDS.pass },
  ) as fc.Arbitrary<Command>,
  { maxLength: 60, size: "max" },
);

const setups = fc.record({
  minInstances: fc.nat(2),
  maxInstances: fc.integer({ min: 2, max: 4 }),
  maxUses: fc.nat(2),
  maxAgeMs: fc.constantFrom(20_000, 3_600_000),
  isResettable: fc.boolean(),
});

function perform(model: PoolModel, command: Command): Promise<void> | void {
  const pick = <T>(list: readonly T[], which: number): T | undefined => list[which % list.length];
  switch (command.act) {
    case "acquire":
      return model.acquire(command.session, command.isOrder, command.isPatient);
    case "release": {
      const held = pick(model.leases, command.which);
      return held && model.release(held, command.reusable);
    }
    case "answer":
      return pick(model.operations, command.which)?.answer(command.outcome);
    case "crash":
      return pick(
        model.items.filter((item) => !item.isGone),
        command.which,
      )?.end();
    case "abort":
      return pick(model.callers, command.which)?.abort.abort();
    case "pass":
      return model.pass(command.ms);
    case "stop":
      return model.stop();
  }
}

async function run(setup: Setup, steps: readonly Command[]): Promise<PoolModel> {
  const model = new PoolModel(setup);
  for (const step of steps) {
    await perform(model, step);
    await model.settle();
    model.expectTruth();
  }
  return model;
}

const RUNS = Number(process.env["POOL_MODEL_RUNS"] ?? 100);

describe("whatever happens in whatever order, a pool", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    // The jitter of a wait must not decide what a seed shows.
    vi.spyOn(Math, "random").mockReturnValue(0.5);
  });

  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it("keeps its promises at every step, and serves everybody who waits once its source works", async () => {
    await fc.assert(
      fc.asyncProperty(setups, commands, async (setup, steps) => {
        const model = await run(setup, steps);
        await model.heal();
        expect(model.callers, "everybody was served").toEqual([]);
        expect(model.pool.status(), "enough is ready").toMatchObject({ busy: 0, leaving: 0 });
        expect(model.pool.status().idle, "and no more").toBe(setup.minInstances);
        model.stop();
        await model.heal();
        expect([model.alive, await model.stopped], "nothing is left").toEqual([0, undefined]);
      }),
      { numRuns: RUNS },
    );
  });

  it("stops at any moment, and destroys all that was ever made, once", async () => {
    const stop = COMMANDS.stop as fc.Arbitrary<Command>;
    await fc.assert(
      fc.asyncProperty(setups, commands, stop, commands, async (setup, before, now, after) => {
        const model = await run(setup, [...before, now, ...after]);
        await model.heal();
        expect([model.alive, model.callers, model.operations]).toEqual([0, [], []]);
        // Settled: with what could not be removed in time, or with nothing.
        expect([undefined, "INTERNAL"]).toContain(((await model.stopped) as SandboxError | undefined)?.code);
      }),
      { numRuns: RUNS },
    );
  });
});

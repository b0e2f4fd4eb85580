import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { SandboxManager } from "../../src/index.js";
import { readHostState } from "../setup/leaks.js";
import { requires } from "../setup/requires.js";
import { ATTACKS } from "./all.js";
import { type Attack, type Context, hasSucceeded } from "./attack.js";
import { findProcesses } from "./host.js";
import type { Order, Verdict } from "./run.js";
import { Tree, USERS, type User } from "./tree.js";

/** Every backend that says it isolates; docker and gvisor join as they come. */
const BACKENDS = ["bubblewrap", "srt"] as const;
const TEST_TIMEOUT_MS = 180_000;

const { describe, it } = requires("linux", "bubblewrap", "sandbox-runtime", "python3");
if (USERS.length === 1)
  console.warn("attacks run as this user only: both root and an ordinary user takes root");

let tree: Tree;
const runs = new Map<string, ReturnType<typeof startRun>>();
const SELF_CHECK = "self-check";

// Several at once, since most attacks wait more than they work; every backend at once would be too much to wait for.
beforeAll(() => {
  tree = new Tree();
  runs.set(SELF_CHECK, startRun(USERS[0]!, "subprocess", SELF_CHECK));
  attackBackend(BACKENDS[0]);
}, TEST_TIMEOUT_MS);
afterAll(async () => {
  for (const { stop } of runs.values()) await stop();
  tree?.remove();
}, TEST_TIMEOUT_MS);

function attackBackend(backend: string): void {
  for (const user of USERS) {
    const name = `${backend} ${user.name}`;
    if (!runs.has(name)) runs.set(name, startRun(user, backend, backend));
  }
}

async function verdictOf(run: string, { name }: Attack): Promise<Verdict> {
  const { verdicts, done } = runs.get(run)!;
  const verdict = await verdicts.get(name);
  if (verdict === undefined) throw new Error(`the run ended before it: ${(await done).complaints}`);
  return verdict;
}

/** The verdicts of one run, each as soon as it is there. */
function startRun(user: User, backend: string, purpose: string) {
  const place = tree.repo(user, purpose);
  const order: Order = { backend, stateDir: tree.stateDir(user), repo: place.repo, word: tree.word };
  const only = process.env.SKERRY_ATTACK;
  const child = tree.start("runner", user, { ...order, ...(only !== undefined && { only }) }, place);
  const waiting = new Map<string, (verdict: Verdict | undefined) => void>();
  const verdicts = new Map<string, Promise<Verdict | undefined>>();
  for (const { name } of ATTACKS) verdicts.set(name, new Promise((resolve) => waiting.set(name, resolve)));
  let complaints = "";
  child.stderr!.on("data", (chunk) => {
    complaints += chunk;
  });
  createInterface(child.stdout!).on("line", (line) => {
    const verdict = JSON.parse(line) as Verdict;
    waiting.get(verdict.name)?.(verdict);
  });
  const done = once(child, "close").then(([status]) => {
    for (const resolve of waiting.values()) resolve(undefined);
    return { status, complaints };
  });
  const stop = async () => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await done;
  };
  return { verdicts, done, stop };
}

const simulated = ATTACKS.filter((attack) => attack.simulated !== undefined);
const unchecked = ATTACKS.filter((attack) => attack.cannotSelfCheck !== undefined);
const checked = ATTACKS.filter(
  (attack) => attack.simulated === undefined && attack.cannotSelfCheck === undefined,
);
const selected = ({ name }: { name: string }) => name.includes(process.env.SKERRY_ATTACK ?? "");

/** A test that cannot fail is worth nothing: without walls every attack must be seen to succeed. */
describe("without walls", () => {
  for (const attack of checked.filter(selected)) {
    it(
      `an attacker ${attack.name}`,
      async ({ skip }) => {
        const { verdict, detail } = await verdictOf(SELF_CHECK, attack);
        if (verdict === "host lacks") skip(`this host lacks ${detail}`);
        // Only root can do everything that a sandbox must prevent.
        if (verdict === "blocked" && process.getuid?.() !== 0) skip("this user may not do it either");
        expect(verdict, detail).toBe("succeeded");
      },
      TEST_TIMEOUT_MS,
    );
  }

  for (const attack of simulated.filter(selected)) {
    it(`would notice that an attacker ${attack.name}`, () => {
      const context = { marker: "marker", facts: { word: tree.word } } as Context;
      expect(hasSucceeded(attack, attack.simulated!, context)).toBe(true);
    });
  }

  it("says why for each that it cannot check", () => {
    for (const { name, cannotSelfCheck } of unchecked)
      console.warn(`not self-checked: ${name}: ${cannotSelfCheck}`);
    expect(unchecked.length).toBeLessThan(ATTACKS.length / 10);
  });

  it("finds a process of the host by its command line", async () => {
    const mark = `1000.${Math.random().toString().slice(2, 14)}`;
    const child = spawn("sleep", [mark], { stdio: "ignore" });
    await once(child, "spawn");
    expect(findProcesses(mark)).toEqual([child.pid]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(findProcesses(mark)).toEqual([]);
  });

  it("has no two attacks of one name", () => {
    expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  });
});

describe.each(BACKENDS)("against %s", (backend) => {
  beforeAll(() => attackBackend(backend));

  describe.each(USERS)("run by $name, an attacker never", (user) => {
    for (const attack of ATTACKS.filter(selected)) {
      it(
        attack.name,
        async ({ skip }) => {
          const { verdict, detail } = await verdictOf(`${backend} ${user.name}`, attack);
          if (verdict === "not claimed") skip(detail);
          expect(verdict, detail).toBe("blocked");
        },
        TEST_TIMEOUT_MS,
      );
    }

    it(
      "brings the host's own process down",
      async () => {
        expect(await runs.get(`${backend} ${user.name}`)!.done).toEqual({ status: 0, complaints: "" });
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe.each(USERS)("run by $name", (user) => {
    it(
      "leaves nothing alive when the host's process is killed, and a new manager removes the rest",
      async () => {
        const place = tree.repo(user, "killed");
        const stateDir = tree.stateDir(user);
        const mark = `1000.${Math.random().toString().slice(2, 14)}`;
        const victim = tree.start("victim", user, { backend, stateDir, mark }, place);
        let complaints = "";
        victim.stderr!.on("data", (chunk) => {
          complaints += chunk;
        });
        const ready = Promise.race([once(victim.stdout!, "data"), once(victim, "exit")]);
        await ready;
        const running = await eventually(() => findProcesses(mark).length >= 3, 2000);
        expect({ running, complaints }).toEqual({ running: true, complaints: "" });
        expect(readdirSync(join(stateDir, "ephemeral"))).toHaveLength(1);
        victim.kill("SIGKILL");
        await once(victim, "close");
        expect(await eventually(() => findProcesses(mark).length === 0, 2000)).toBe(true);
        // Root reaps for everybody: the directory must be its own.
        if (user.uid !== undefined) execFileSync("chown", ["-R", "0:0", stateDir]);
        const manager = new SandboxManager({ stateDir, backend });
        try {
          expect(await manager.reap()).toBeGreaterThanOrEqual(1);
          expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
          expect(cgroupsOf(victim.pid!)).toEqual([]);
        } finally {
          await manager.close();
        }
      },
      TEST_TIMEOUT_MS,
    );
  });
});

async function eventually(holds: () => boolean, withinMs: number): Promise<boolean> {
  for (const until = Date.now() + withinMs; Date.now() < until; await delay(20)) if (holds()) return true;
  return holds();
}

/** Groups are named after the process that made them. */
function cgroupsOf(pid: number): string[] {
  return [...readHostState().cgroups].filter((path) => path.includes(`/skerry-${pid}-`));
}

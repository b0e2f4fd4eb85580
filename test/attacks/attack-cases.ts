import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { parseConfig, SandboxManager } from "../../src/index.js";
import { readHostState } from "../setup/leaks.js";
import { ATTACKS } from "./all.js";
import type { Attack, Group } from "./attack.js";
import { findProcesses } from "./host.js";
import { PackageCopy, type User } from "./package-copy.js";
import type { AttackVerdict, Order } from "./run.js";

export const TEST_TIMEOUT_MS = 600_000;

/** What is attacked: a backend with its configuration. */
export interface Target {
  readonly backend: string;
  /** The `sandbox` block of the configuration; left out: the defaults. */
  readonly config?: object;
  /** Programs run in cells. */
  readonly cells?: boolean;
  /** Left out: all of them. */
  readonly groups?: readonly Group[];
  /** How many of a mark's processes run, where the host cannot see them itself. */
  readonly countAlive?: (stateDir: string) => number;
}

interface Run {
  readonly verdicts: ReadonlyMap<string, Promise<AttackVerdict | undefined>>;
  readonly done: Promise<{ readonly status: number | null; readonly complaints: string }>;
  stop(): Promise<void>;
}

/** The attacks of one test file: each run is a process of the user that runs the sandboxes. */
export class AttackRuns {
  readonly packageCopy = new PackageCopy();
  readonly #runs = new Map<string, Run>();

  /** Starts a run unless it has been started; attacks wait more than they work, so several may go on at once. */
  begin(name: string, user: User, target: Target): void {
    if (!this.#runs.has(name)) this.#runs.set(name, this.#start(user, name, target));
  }

  async verdictOf(run: string, { name }: Attack): Promise<AttackVerdict> {
    const { verdicts, done } = this.#runs.get(run)!;
    const verdict = await verdicts.get(name);
    if (verdict === undefined) throw new Error(`the run ended before it: ${(await done).complaints}`);
    return verdict;
  }

  /** How the run's process ended. */
  endOf(run: string): Run["done"] {
    return this.#runs.get(run)!.done;
  }

  async end(): Promise<void> {
    for (const { stop } of this.#runs.values()) await stop();
    this.packageCopy.remove();
  }

  /** The verdicts of one run, each as soon as it is there. */
  #start(user: User, purpose: string, { backend, config, cells, groups }: Target): Run {
    const { packageCopy } = this;
    const place = packageCopy.repo(user, purpose.replaceAll(" ", "-"));
    const only = process.env.SKERRY_ATTACK;
    const order: Order = {
      backend,
      stateDir: packageCopy.stateDir(user),
      repo: place.repo,
      word: packageCopy.word,
      ...(config !== undefined && { config }),
      ...(cells !== undefined && { cells }),
      ...(groups !== undefined && { groups }),
      ...(only !== undefined && { only }),
    };
    const child = packageCopy.start("runner", user, order, place);
    const waiting = new Map<string, (verdict: AttackVerdict | undefined) => void>();
    const verdicts = new Map<string, Promise<AttackVerdict | undefined>>();
    for (const { name } of ATTACKS) verdicts.set(name, new Promise((resolve) => waiting.set(name, resolve)));
    let complaints = "";
    child.stderr!.on("data", (chunk) => {
      complaints += chunk;
    });
    createInterface(child.stdout!).on("line", (line) => {
      const verdict = JSON.parse(line) as AttackVerdict;
      waiting.get(verdict.name)?.(verdict);
    });
    const done = once(child, "close").then(([status]) => {
      for (const resolve of waiting.values()) resolve(undefined);
      return { status: status as number | null, complaints };
    });
    const stop = async () => {
      if (child.exitCode === null) child.kill("SIGKILL");
      await done;
    };
    return { verdicts, done, stop };
  }
}

export const selected = ({ name }: { name: string }) => name.includes(process.env.SKERRY_ATTACK ?? "");

/** The tests of one target: no attack succeeds, the host's process lives, and nothing outlives it when it is killed. */
export function describeTarget(
  title: string,
  users: readonly User[],
  runs: () => AttackRuns,
  target: () => Target | Promise<Target>,
  groups?: readonly Group[],
): void {
  const runOf = (user: User) => `${title} ${user.name}`;

  describe(`against ${title}`, () => {
    let aim: Target;
    beforeAll(async () => {
      aim = { ...(await target()), ...(groups !== undefined && { groups }) };
      for (const user of users) runs().begin(runOf(user), user, aim);
    }, 600_000);

    describe.each(users)("run by $name, an attacker never", (user) => {
      for (const attack of ATTACKS.filter(selected).filter(({ group }) => groups?.includes(group) ?? true)) {
        it(
          attack.name,
          async ({ skip }) => {
            const { verdict, detail } = await runs().verdictOf(runOf(user), attack);
            if (verdict === "not claimed") skip(detail);
            expect(verdict, detail).toBe("blocked");
          },
          TEST_TIMEOUT_MS,
        );
      }

      it(
        "brings the host's own process down",
        async () => {
          expect(await runs().endOf(runOf(user))).toEqual({ status: 0, complaints: "" });
        },
        TEST_TIMEOUT_MS,
      );
    });

    describe.each(users)("run by $name", (user) => {
      it(
        "leaves nothing alive when the host's process is killed, and a new manager removes the rest",
        () => surviveNothing(runs().packageCopy, user, aim),
        TEST_TIMEOUT_MS,
      );
    });
  });
}

async function surviveNothing(
  packageCopy: PackageCopy,
  user: User,
  { backend, config, countAlive }: Target,
): Promise<void> {
  const place = packageCopy.repo(user, `killed-${backend}`);
  const stateDir = packageCopy.stateDir(user);
  const mark = `1000.${Math.random().toString().slice(2, 14)}`;
  const alive = () => countAlive?.(stateDir) ?? findProcesses(mark).length;
  const victim = packageCopy.start("victim", user, { backend, stateDir, mark, config }, place);
  let complaints = "";
  victim.stderr!.on("data", (chunk) => {
    complaints += chunk;
  });
  await Promise.race([once(victim.stdout!, "data"), once(victim, "exit")]);
  const running = await eventually(() => alive() >= (countAlive === undefined ? 3 : 1), 2000);
  expect({ running, complaints }).toEqual({ running: true, complaints: "" });
  expect(readdirSync(join(stateDir, "ephemeral"))).toHaveLength(1);
  victim.kill("SIGKILL");
  await once(victim, "close");
  expect(await eventually(() => alive() === 0, 5000)).toBe(true);
  // Root reaps for everybody: the directory must be its own.
  if (user.uid !== undefined) execFileSync("chown", ["-R", "0:0", stateDir, ...elsewhere(stateDir)]);
  const manager = new SandboxManager({
    stateDir,
    backend,
    config: await parseConfig({ sandbox: config ?? {} }),
  });
  try {
    expect(await manager.reap()).toBeGreaterThanOrEqual(1);
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    expect(cgroupsOf(victim.pid!)).toEqual([]);
  } finally {
    await manager.close();
  }
}

/** What sandbox-runtime has below /tmp, where the path of the state directory leaves no room for a socket's. */
function elsewhere(stateDir: string): string[] {
  const folder = join(stateDir, "srt");
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return entries.filter((each) => each.isSymbolicLink()).map(({ name }) => readlinkSync(join(folder, name)));
}

async function eventually(holds: () => boolean, withinMs: number): Promise<boolean> {
  for (const until = Date.now() + withinMs; Date.now() < until; await delay(20)) if (holds()) return true;
  return holds();
}

/** Groups are named after the process that made them. */
function cgroupsOf(pid: number): string[] {
  return [...readHostState().cgroups].filter((path) => path.includes(`/skerry-${pid}-`));
}

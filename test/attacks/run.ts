import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Capabilities, getBackend } from "../../src/backend.js";
import { type Limits, parseConfig, type SandboxError, SandboxManager } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";
import { backendOptions } from "../../src/runtime/backends/registry.js";
import { ATTACKS } from "./all.js";
import { type Attack, type Context, type Facts, type Group, hasSucceeded, type Outcome } from "./attack.js";
import { prelude } from "./prelude.js";

/** An attack that has not come to an end by then is itself a success of a kind: it is reported as an error. */
const DEADLINE_MS = 120_000;

const LIMIT_CAPABILITIES: Readonly<Record<keyof Limits, keyof Capabilities>> = {
  memoryMb: "memoryLimit",
  cpus: "cpuLimit",
  pids: "pidsLimit",
  openFiles: "openFilesLimit",
  fileSizeMb: "fileSizeLimit",
  workspaceMb: "workspaceLimit",
  workspaceInodes: "workspaceLimit",
  tmpMb: "isolates",
};

export interface Order {
  readonly backend: string;
  readonly stateDir: string;
  /** The caller's own directory, with the word in its path: secrets and prey are in it. */
  readonly repo: string;
  readonly word: string;
  /** The `sandbox` block of the configuration; left out: the defaults. */
  readonly config?: object;
  /** Programs run in cells of their own, inside sandboxes that make them. */
  readonly cells?: boolean;
  /** How many times as long everything takes here as on a real processor; left out: 1. */
  readonly slowness?: number;
  /** Left out: all. */
  readonly groups?: readonly Group[];
  /** Part of a name; left out: all. */
  readonly only?: string;
}

export interface AttackVerdict {
  readonly name: string;
  readonly verdict: "blocked" | "succeeded" | "not claimed" | "host lacks" | "error";
  readonly detail: string;
  readonly ms: number;
}

/** Runs every attack against one backend and reports each as it ends. */
export async function runAttacks(order: Order, report: (verdict: AttackVerdict) => void): Promise<void> {
  const config = await parseConfig({ sandbox: order.config ?? {} });
  const options = backendOptions(order.backend, config.sandbox.backends);
  const backend = await getBackend(order.backend, { stateDir: order.stateDir, options });
  const { capabilities } = await backend.probe();
  // Without walls these show nothing, or too much.
  const attacks = ATTACKS.filter(
    ({ name, group, simulated, cannotSelfCheck }) =>
      name.includes(order.only ?? "") &&
      (order.groups?.includes(group) ?? true) &&
      (capabilities.isolates || (simulated ?? cannotSelfCheck) === undefined),
  );
  const host = await startHost(order, capabilities.isolation === "kernel");
  const manager = new SandboxManager({
    stateDir: order.stateDir,
    backend: order.backend,
    config,
    handleSignals: false,
  });
  try {
    for (const attack of attacks) {
      const startedAt = performance.now();
      const cells = order.cells === true;
      const found = await runOne(attack, { manager, capabilities, cells, facts: host.facts });
      report({ name: attack.name, ...found, ms: Math.round(performance.now() - startedAt) });
    }
  } finally {
    await manager.close();
    await host.stop();
  }
}

interface Field {
  readonly manager: SandboxManager;
  readonly capabilities: Capabilities;
  readonly cells: boolean;
  readonly facts: Facts;
}

async function runOne(
  attack: Attack,
  { manager, capabilities, cells, facts }: Field,
): Promise<Pick<AttackVerdict, "verdict" | "detail">> {
  if (attack.needs !== undefined && capabilities.isolates && capabilities[attack.needs] !== true) {
    return { verdict: "not claimed", detail: `this backend claims no ${attack.needs} on this host` };
  }
  const undo: (() => unknown)[] = [];
  const marker = `marker-${randomBytes(8).toString("hex")}`;
  const isolated = capabilities.isolates;
  const isInCell = ({ hasCells }: RunningSandbox) =>
    hasCells && attack.group !== "host file API" && attack.besideCells !== true;
  const whole = (code: string) => `${prelude(marker, facts, isolated)}\n${code}\n`;
  const newSandbox = async (limits: Limits = {}): Promise<RunningSandbox> => {
    const sandbox = await manager.startSandbox("attacker", {
      ephemeral: true,
      limits: enforceable(limits, capabilities),
      ...(cells && { cells }),
    });
    // A daemon that is busy may not get to remove a sandbox of many processes in time: it is asked again.
    undo.push(() => sandbox.ensureStopped());
    return sandbox;
  };
  try {
    const sandbox = attack.fresh
      ? await newSandbox(attack.limits)
      : await manager.startSandbox("attacker", cells ? { cells } : {});
    const context: Context = {
      marker,
      facts,
      isolated,
      capabilities,
      manager,
      sandbox,
      newSandbox,
      prelude: whole,
      python: async (where, code, timeoutMs = 10_000) =>
        await where.runCode(whole(code), { language: "python", timeoutMs, isolate: isInCell(where) }),
      onCleanUp: (action) => undo.push(action),
    };
    await attack.setUp?.(context);
    const outcome = await Promise.race([
      perform(attack, context, isInCell(sandbox)),
      delay(DEADLINE_MS, "late" as const, { ref: false }),
    ]);
    if (outcome === "late") return { verdict: "error", detail: `did not end within ${DEADLINE_MS} ms` };
    const detail = JSON.stringify(outcome).replaceAll(marker, "WON").slice(0, 600);
    if (hasSucceeded(attack, outcome, context)) return { verdict: "succeeded", detail };
    const missing = /host-lacks: (.*)/.exec(outcome.stdout)?.[1];
    return missing !== undefined && !isolated
      ? { verdict: "host lacks", detail: missing }
      : { verdict: "blocked", detail };
  } catch (error) {
    // Where the kernel ends all of a sandbox for memory, no process may be left to say why; its memory is freed with it.
    if (attack.needs === "memoryLimit" && (error as SandboxError).code === "SANDBOX_LOST")
      return { verdict: "blocked", detail: "the sandbox ended with it" };
    return {
      verdict: "error",
      detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  } finally {
    for (const action of undo.reverse()) await action();
  }
}

async function perform(attack: Attack, context: Context, isolate: boolean): Promise<Outcome> {
  if (attack.run !== undefined) return attack.run(context);
  const { language = "python", code = "", timeoutMs = 10_000 } = attack;
  const program = language === "python" ? context.prelude(code) : code.replaceAll("$MARKER", context.marker);
  const result = await context.sandbox.runCode(program, { language, timeoutMs, isolate });
  // A program with a mistake in it would be blocked for ever.
  if (
    /^(?:SyntaxError|NameError|TypeError|AttributeError|KeyError|IndexError|ValueError|SystemError)\b/m.test(
      result.stderr,
    )
  ) {
    throw new Error(`the attack itself is broken: ${result.stderr}`);
  }
  return {
    stdout: result.stdout,
    reason: result.reason,
    ...(result.stderr !== "" && { error: result.stderr.slice(-300) }),
  };
}

/** What is asked for, without what this host cannot enforce: the attacks that need it are not claimed then. */
function enforceable(limits: Limits, capabilities: Capabilities): Limits {
  return Object.fromEntries(
    Object.entries(limits).filter(
      ([name]) => capabilities[LIMIT_CAPABILITIES[name as keyof Limits]] === true,
    ),
  );
}

/** Of those that say something. */
function digests(paths: readonly string[]): Record<string, string> {
  const contents = paths
    .filter((path) => existsSync(path))
    .map((path) => [path, readFileSync(path)] as const);
  return Object.fromEntries(
    contents
      .filter(([, content]) => content.length > 0)
      .map(([path, content]) => [path, createHash("sha256").update(content).digest("hex")]),
  );
}

async function startHost(order: Order, ownKernel: boolean): Promise<{ facts: Facts; stop(): Promise<void> }> {
  const { repo, word } = order;
  const decoyMark = `1000.${Math.random().toString().slice(2, 14)}`;
  const decoy = spawn("sleep", [decoyMark], { stdio: "ignore", env: { SKERRY_SECRET_MARKER: word } });
  const script = fileURLToPath(new URL("host-listener.py", import.meta.url));
  const listener = spawn("/usr/bin/python3", [script, word, repo], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await Promise.race([
    once(createInterface(listener.stdout), "line") as Promise<[string]>,
    once(listener, "exit").then(([status]) => {
      throw new Error(`the host's listener ended with ${status}`);
    }),
  ]);
  const facts: Facts = {
    ...(JSON.parse(line) as Facts),
    word,
    stateDir: order.stateDir,
    repo,
    home: process.env.HOME ?? "/root",
    secretFile: join(repo, "secret.txt"),
    hostname: hostname(),
    aboutUsers: digests(["/etc/passwd", "/etc/group", "/etc/subuid", "/var/run/utmp", "/var/log/lastlog"]),
    slowness: order.slowness ?? 1,
    ownKernel,
    ownDevices: process.getuid?.() === 0,
    addresses: Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, scopeid }) => !internal && !scopeid)
      .map(({ address }) => address),
    decoyPid: decoy.pid!,
    decoyMark,
  };
  requirePlanted(facts);
  return {
    facts,
    stop: async () => {
      listener.stdin.end();
      decoy.kill("SIGKILL");
      await Promise.all([ended(listener), ended(decoy)]);
    },
  };
}

/** Nothing here proves anything unless the host really has what must not be found. */
function requirePlanted({ word, secretFile, home }: Facts): void {
  const planted = [secretFile, join(home, ".ssh/id_ed25519"), "/proc/self/environ"];
  if (process.env.SKERRY_ATTACK_DESCRIPTORS !== undefined)
    planted.push("/proc/self/fd/40", "/proc/self/fd/3");
  for (const path of planted) {
    if (!existsSync(path) || !readFileSync(path, "utf8").includes(word))
      throw new Error(`${path} has no secret in it`);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

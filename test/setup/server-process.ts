import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { LAUNCHER, ROOT, type User } from "../e2e/run-skerry.js";

/** `skerry serve` in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  /** Only at the first start of a user. */
  readonly key: string | undefined;
  readonly pid: number;
  /** Resident memory now, in MiB. */
  memoryMb(): number;
  /** Everything on standard error by now. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves to the exit status, or the signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** One that may not listen yet. */
export interface StartingServer extends Pick<ServerProcess, "pid" | "log" | "kill" | "ended"> {
  /** Rejects when it ends before that. */
  readonly listening: Promise<ServerProcess>;
}

/** Starts it on a port that is free, and waits until it listens. */
export async function startServer(user: User, args: readonly string[] = []): Promise<ServerProcess> {
  return spawnServer(user, args, [LAUNCHER]).listening;
}

/** Starts it on a port that is free. Unless another program is named, the build is used as it is. */
export function spawnServer(
  user: User,
  args: readonly string[] = [],
  [program, ...first]: readonly [string, ...string[]] = [process.execPath, join(ROOT, "dist/bin/skerry.cjs")],
): StartingServer {
  const child = spawn(program, [...first, "serve", "--port", "0", "--json", ...args], {
    env: { ...user.environment },
    cwd: user.home,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? signal)),
  );
  const pid = child.pid!;
  const process = { pid, log: () => log, kill: (signal: NodeJS.Signals) => void child.kill(signal), ended };
  const listening = Promise.race([
    new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve)),
    ended.then((status) => {
      throw new Error(`skerry serve ended with ${status}: ${log}`);
    }),
  ]).then((line) => {
    const { url, key } = JSON.parse(line) as { url: string; key?: string };
    return { ...process, url, key, memoryMb: () => residentMb(pid) };
  });
  // A test that kills it does not wait for it to listen.
  listening.catch(() => undefined);
  return { ...process, listening };
}

/** Every process that a process has started, and those that they have: as `pid@start time`, which is never used again. */
export function descendantsOf(root: number): Set<string> {
  const children = new Map<number, string[]>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(name) : undefined;
    if (stat !== undefined) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat.identity]);
  }
  const found = new Set<string>();
  for (const next = [...(children.get(root) ?? [])]; next.length > 0; ) {
    const identity = next.pop()!;
    found.add(identity);
    next.push(...(children.get(Number.parseInt(identity, 10)) ?? []));
  }
  return found;
}

/** The same of one that runs. */
export function identityOf(pid: number): string {
  return readStat(String(pid))?.identity ?? `${pid}@gone`;
}

/** True while the process of that identity runs. */
export function isAlive(identity: string): boolean {
  return readStat(String(Number.parseInt(identity, 10)))?.identity === identity;
}

function readStat(pid: string): { readonly identity: string; readonly parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything, also parentheses.
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie is gone but for its parent.
    return state === "Z" ? undefined : { identity: `${pid}@${rest[17]}`, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../kit/errors.js";
import { unlessMissing } from "../../../kit/if-missing.js";
import { type DockerAddress, describeAddress, isSystemDaemon } from "../containers/daemon/address.js";

/** What has Docker know gVisor. As root, `doctor --fix` does it itself. */
export const REGISTER_RUNSC = "skerry doctor --fix";

const RUNSC_PATHS = ["/usr/bin/runsc", "/usr/local/bin/runsc"];

const DAEMON_FILE = "/etc/docker/daemon.json";
const RESTART = "Restart the Docker daemon: systemctl restart docker";

export interface RegisterOptions {
  /** The daemon's configuration. */
  readonly file?: string;
  readonly pidFile?: string;
  /** How long the daemon has to read it. */
  readonly patienceMs?: number;
}

/** Where gVisor's runtime is installed on this host; undefined: nowhere. */
export function findRunsc(): string | undefined {
  return RUNSC_PATHS.find((path) => existsSync(path));
}

/** What the configuration of a daemon must have. No network but a loopback: what leaves a sandbox leaves by the wire. */
function runscEntry(path: string): object {
  return { path, runtimeArgs: ["--network=none"] };
}

/** The same for a person to add. */
function runscLines(path: string): string {
  return JSON.stringify({ runtimes: { runsc: runscEntry(path) } }).slice(1, -1);
}

/** How a daemon of this host gets runsc; undefined: it is another runtime. */
export function remedyForRunsc(runtime: string, daemon: DockerAddress): string | undefined {
  if (runtime !== "runsc") return undefined;
  const path = findRunsc();
  if (path === undefined) return "apt-get install runsc";
  return isSystemDaemon(daemon) ? REGISTER_RUNSC : `Add to that daemon's configuration: ${runscLines(path)}`;
}

export interface SystemDaemon {
  /** Where the daemon is that is to have it. */
  readonly address: DockerAddress;
  /** Asks it for its runtimes. */
  runtimes(): Promise<readonly string[]>;
}

/** Registers this host's runsc with the system's daemon and asks that whether it has it. Resolves to what to say. */
export async function offerRunsc(
  path: string,
  { address, runtimes }: SystemDaemon,
  options: RegisterOptions = {},
): Promise<string> {
  if (!isSystemDaemon(address)) {
    throw new SandboxError(
      "UNSUPPORTED",
      `the Docker daemon${describeAddress(address)} is not the system's: where its configuration is, only its owner knows`,
      { hint: `Add to it, and have the daemon read it again (SIGHUP): ${runscLines(path)}` },
    );
  }
  const left = registerRunsc(path, options);
  // It reads its configuration in its own time.
  for (const until = Date.now() + (options.patienceMs ?? 5000); ; await sleep(100)) {
    const known = await runtimes().catch((): string[] => []);
    if (known.includes("runsc")) return "the Docker daemon has the runtime runsc";
    if (left !== undefined || Date.now() > until) break;
  }
  const file = options.file ?? DAEMON_FILE;
  return `runsc stands in ${file}, and the Docker daemon does not have it yet. ${left ?? RESTART}`;
}

/**
 * Adds runsc to the runtimes of this host's Docker daemon and has it read its configuration again. Everything else in
 * the file stays; a file that cannot be read is not touched. Resolves to what is left to do, or undefined.
 */
export function registerRunsc(path: string, options: RegisterOptions = {}): string | undefined {
  const { pidFile = "/var/run/docker.pid" } = options;
  const file = followLink(options.file ?? DAEMON_FILE);
  const config = readConfig(file);
  const runtimes = config.runtimes ?? {};
  if (!isObject(runtimes)) throw unreadable(file, "runtimes is no object");
  if (!Object.hasOwn(runtimes, "runsc")) {
    const runsc = runscEntry(path);
    replace(file, `${JSON.stringify({ ...config, runtimes: { ...runtimes, runsc } }, null, 2)}\n`);
  }
  return reload(pidFile) ? undefined : RESTART;
}

function readConfig(file: string): Record<string, unknown> {
  const text = unlessMissing("", () => readFileSync(file, "utf8"));
  if (text.trim() === "") return {};
  try {
    const config: unknown = JSON.parse(text);
    if (isObject(config)) return config;
  } catch (error) {
    throw unreadable(file, error instanceof Error ? error.message : String(error));
  }
  throw unreadable(file, "it is no object");
}

function replace(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const before = statSync(file, { throwIfNoEntry: false });
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(unfinished, text, { mode: 0o600, flag: "wx" });
    if (before !== undefined) chownSync(unfinished, before.uid, before.gid);
    chmodSync(unfinished, (before?.mode ?? 0o644) & 0o777);
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** A link stays one, and what it leads to is changed: unless an ordinary user could have it lead elsewhere. */
function followLink(file: string): string {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return file;
  const target = resolve(realpathSync(dirname(file)), readlinkSync(file));
  if (!existsSync(target) || realpathSync(target) !== target) {
    throw unreadable(file, "it is a link that leads nowhere, or by way of others");
  }
  for (let path = target; ; path = dirname(path)) {
    const { uid, mode } = statSync(path);
    const isOurs = uid === 0 || uid === process.getuid?.();
    if (!isOurs || ((mode & 0o022) !== 0 && (mode & 0o1000) === 0)) {
      throw unreadable(file, `it is a link, and others may change ${path}`);
    }
    if (path === dirname(path)) return target;
  }
}

/** The daemon takes new runtimes without a restart; containers go on. */
function reload(pidFile: string): boolean {
  try {
    const pid = Number(readFileSync(pidFile, "utf8").trim());
    if (!Number.isInteger(pid) || pid <= 1) return false;
    // The number may have been used again.
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "dockerd") return false;
    process.kill(pid, "SIGHUP");
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(file: string, why: string): SandboxError {
  return new SandboxError("CONFIG_INVALID", `The Docker daemon's ${file} cannot be read: ${why}`, {
    hint: "Correct it; nothing was changed.",
  });
}

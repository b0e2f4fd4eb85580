import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { SandboxError, systemCode } from "../../errors.js";

const RUNSC_PATHS = ["/usr/bin/runsc", "/usr/local/bin/runsc"];

export interface RegisterOptions {
  /** The daemon's configuration. */
  readonly file?: string;
  readonly pidFile?: string;
}

/** Where gVisor's runtime is installed on this host; undefined: nowhere. */
export function findRunsc(): string | undefined {
  return RUNSC_PATHS.find((path) => existsSync(path));
}

/**
 * Adds runsc to the runtimes of this host's Docker daemon and has it read its configuration again. Everything else in
 * the file stays; a file that cannot be read is not touched. Resolves to what is left to do, or undefined.
 */
export function registerRunsc(path: string, options: RegisterOptions = {}): string | undefined {
  const { file = "/etc/docker/daemon.json", pidFile = "/var/run/docker.pid" } = options;
  const config = readConfig(file);
  const runtimes = config.runtimes ?? {};
  if (!isObject(runtimes)) throw unreadable(file, "runtimes is no object");
  if (!Object.hasOwn(runtimes, "runsc")) {
    // No network but a loopback: what leaves a sandbox leaves by the wire.
    const runsc = { path, runtimeArgs: ["--network=none"] };
    replace(file, `${JSON.stringify({ ...config, runtimes: { ...runtimes, runsc } }, null, 2)}\n`);
  }
  return reload(pidFile) ? undefined : "Restart the Docker daemon: systemctl restart docker";
}

function readConfig(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return {};
    throw error;
  }
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
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0o644;
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(unfinished, text, { mode: mode & 0o777, flag: "wx" });
  renameSync(unfinished, file);
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

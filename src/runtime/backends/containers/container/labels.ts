import { createHash, randomBytes } from "node:crypto";
import { linkSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { systemCode } from "../../../../kit/errors.js";
import { unlessMissing } from "../../../../kit/if-missing.js";
import { isOrphaned, processLabel } from "../../../../kit/process-label.js";

const PREFIX = "dev.skerry.";
/** A container that has ended and is this old, of a process that we cannot see, is an orphan. */
const UNSEEN_AGE_S = 600;
/** A volume has no state. */
const ENDED = ["created", "exited", "dead", ""];

export const LABEL = {
  /** Which machine made it: several may use one daemon. */
  host: `${PREFIX}host`,
  /** Which state directory it belongs to. */
  state: `${PREFIX}state`,
  /** Since when the machine runs, and in which process namespace the maker's pid counts. */
  boot: `${PREFIX}boot`,
  /** The maker, as process-label.ts writes it. */
  maker: `${PREFIX}maker`,
  /** The session it was made for: labels stay, and a pool makes it before any session and uses it for several. */
  sandbox: `${PREFIX}sandbox`,
  session: `${PREFIX}session`,
  /** On volumes: which build of the guest is inside. */
  guest: `${PREFIX}guest`,
} as const;

/** Labels with the maker of a daemon's object, so that a later process can tell whether it is orphaned. */
export function makerLabels(stateDir: string, id: string): Record<string, string> {
  return { ...stateLabels(stateDir), [LABEL.boot]: bootLabel(), [LABEL.maker]: processLabel(id) };
}

/** What is made in this state directory, by any process of this machine. */
export function stateLabels(stateDir: string): Record<string, string> {
  return { ...hostLabels(), [LABEL.state]: digest(`${stateDirectoryId(stateDir)}\n${resolve(stateDir)}`) };
}

/** What is made by any process of this machine. */
export function hostLabels(): { readonly [LABEL.host]: string } {
  return { [LABEL.host]: hostLabel() };
}

/**
 * A name for a container: unique, and sandboxes of one session are found together. It follows when a container is used
 * again; one that a pool made ahead has the sandbox's id in it, and of the session nothing.
 */
export function containerName(id: string, sessionKey: string, part?: string): string {
  return ["skerry", digest(sessionKey), id, ...(part === undefined ? [] : [digest(part).slice(0, 8)])].join(
    "-",
  );
}

/** As the daemon lists it. Those that fill a volume have one of their own. */
export function isContainerName(name: string): boolean {
  return /^\/skerry-(fill|[0-9a-f]{16})-/.test(name);
}

export function sessionLabel(sessionKey: string): string {
  return digest(sessionKey);
}

export interface LabelledResource {
  readonly Labels?: Readonly<Record<string, string>>;
  readonly State?: string;
  /** In seconds. */
  readonly Created?: number;
}

/** True when the process that made this container, with our own state directory, is gone. */
export function isOrphan(
  { Labels = {}, State = "", Created = 0 }: LabelledResource,
  now = Date.now(),
): boolean {
  const [boot, namespace] = (Labels[LABEL.boot] ?? "").split(":");
  const [ownBoot, ownNamespace] = bootLabel().split(":");
  const maker = Labels[LABEL.maker] ?? "";
  if (boot === undefined || namespace === undefined || maker === "") return false;
  if (boot === ownBoot && namespace === ownNamespace) return isOrphaned(maker);
  // Its pid means nothing here: it is of an earlier boot, of a container, or of a copy of this machine. The guest ends
  // with its host, so one that runs has one.
  return ENDED.includes(State) && now / 1000 - Created > UNSEEN_AGE_S;
}

let host: string | undefined;
let boot: string | undefined;

function hostLabel(): string {
  host ??= digest(`${read("/etc/machine-id")}\n${hostname()}`);
  return host;
}

function bootLabel(): string {
  boot ??= `${digest(read("/proc/sys/kernel/random/boot_id"))}:${digest(namespaceOf())}`;
  return boot;
}

function namespaceOf(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** A random name of a state directory, made once and kept in it: machines and paths are copied. "": there is none yet. */
function stateDirectoryId(stateDir: string): string {
  // The name stays: by another one, the containers of an earlier version would not be known as this directory's.
  const file = join(resolve(stateDir), "place-id");
  return readId(file) ?? makeId(file);
}

function makeId(file: string): string {
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(unfinished, randomBytes(16).toString("hex"), { mode: 0o600, flag: "wx" });
    linkSync(unfinished, file);
  } catch (error) {
    // Nothing can have been made in a directory that is not there; and of two processes that make it at once, one is first.
    if (systemCode(error) === "ENOENT") return "";
    if (systemCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
  return readId(file) ?? "";
}

function readId(file: string): string | undefined {
  return unlessMissing(undefined, () => readFileSync(file, "utf8"));
}

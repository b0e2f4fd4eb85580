import { createHash } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../../kit/atomic-write.js";
import { type ErrorCode, SandboxError, systemCode } from "../../../kit/errors.js";
import { unlessMissing } from "../../../kit/if-missing.js";
import { bootId } from "../../../kit/process-label.js";
import { ensureStateDirectory } from "../../../kit/state-directory.js";
import type { Probe } from "../backend.js";
import { type GuestRuntime, installGuestRuntime } from "../guest-runtime.js";
import { greetGuest } from "../start-guest.js";
import { commonArguments, emptySandboxArguments, sharedDirectories } from "./bwrap/arguments.js";
import { endLaunched, Launchers, startFailure } from "./bwrap/launcher.js";
import type { Ending } from "./bwrap/launcher-reports.js";
import { explainStart } from "./explain-start.js";
import { GUEST_RUNTIME } from "./guest-layout.js";
import { type HostSigns, readHostSigns } from "./host-signs.js";
import { loadSeccompFilter } from "./seccomp/filter.js";

/** Of the state directory: what worked, and where. */
const FILE = "start-trial";

/** How to try. */
export interface TrialOptions {
  readonly bubblewrap: string;
  readonly stateDir: string;
  /** Whom a sandbox runs as; undefined: as ourselves. */
  readonly uid: number | undefined;
  /** Also when it has worked before. */
  readonly again: boolean;
  readonly timeoutMs: number;
}

/** What came of it. */
export interface StartTrial {
  /** Why no sandbox starts here. */
  readonly problem?: Probe["problems"][number];
  /** Of the error that says so; left out: BACKEND_UNAVAILABLE. */
  readonly code?: ErrorCode;
  /** Sandboxes have inodes of their own for the files that all of them read. */
  readonly hasOwnInodes: boolean;
}

/** What worked in this process, by what it worked with. */
const successes = new Map<string, StartTrial>();

/**
 * Starts a sandbox with nothing in it and ends it. What worked is not tried again before the next boot, or before something of the
 * host changes that could make it fail. Undefined: it could not be tried, for a reason that `create` will give.
 */
export async function tryStart(options: TrialOptions): Promise<StartTrial | undefined> {
  try {
    ensureStateDirectory(options.stateDir);
  } catch (error) {
    return failedTrial(error);
  }
  const signs = readHostSigns();
  const key = keyOf(options, signs);
  const known = options.again ? undefined : (successes.get(key) ?? recall(options.stateDir, key));
  if (known !== undefined) return known;
  try {
    const trial = await run(options);
    successes.set(key, trial);
    remember(options.stateDir, key, trial);
    return trial;
  } catch (error) {
    forgetStart(options.stateDir);
    return failedTrial(error);
  }
}

/** A sandbox has not started: what worked once is tried again. */
export function forgetStart(stateDir: string): void {
  successes.clear();
  rmSync(join(stateDir, FILE), { force: true });
}

/** What every message about it begins with. */
const CANNOT_START = "bubblewrap cannot start: ";

/** Why bubblewrap ended before the guest said hello. */
export function startError(ending: Ending): SandboxError {
  const said = ending.complaints || describe(ending);
  const known = explainStart(said, readHostSigns());
  const cause = new Error(said);
  if (known !== undefined) {
    return new SandboxError("BACKEND_UNAVAILABLE", `${CANNOT_START}${known.what}`, {
      hint: known.remedy,
      cause,
    });
  }
  const message = said.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 500);
  return new SandboxError("SANDBOX_START_FAILED", `${CANNOT_START}${message}`, {
    hint: "skerry doctor says what this host lacks.",
    cause,
  });
}

function describe({ status }: Ending): string {
  if (status === undefined) return "the launcher ended";
  return status < 0 ? `signal ${-status}` : `status ${status}`;
}

async function run({ bubblewrap, stateDir, uid, timeoutMs }: TrialOptions): Promise<StartTrial> {
  const runtime = installGuestRuntime(stateDir);
  // Not the backend's own launchers: the first of those is for the first sandbox.
  const launched = await new Launchers(0).launch(runtime.guest, {
    bubblewrap,
    arguments: emptySandboxArguments(runtime, commonArguments(runtime)),
    command: `${GUEST_RUNTIME}/skerry-guest`,
    seccomp: await loadSeccompFilter(),
    cgroupFiles: [],
    limits: {},
    ...(uid !== undefined && { identity: { uid, gid: uid } }),
    mountPoint: join(runtime.directory, "empty"),
    covers: sharedDirectories(runtime),
  });
  let isStarting = true;
  try {
    const failed = startFailure(launched, () => isStarting, startError);
    await greetGuest(launched, { failed, timeoutMs });
    isStarting = false;
    return { hasOwnInodes: hasOwnInodes(runtime, await launched.pid) };
  } finally {
    isStarting = false;
    await endLaunched(launched);
  }
}

/** A file system of its own covers what it shares with others. */
function hasOwnInodes({ directory }: GuestRuntime, pid: number | undefined): boolean {
  try {
    return statSync(`/proc/${pid}/root${directory}`).dev !== statSync(directory).dev;
  } catch {
    return false;
  }
}

function failedTrial(error: unknown): StartTrial | undefined {
  if (!(error instanceof SandboxError)) return undefined;
  const { code, message, hint = "" } = error;
  if (code === "CONFIG_INVALID")
    return { problem: { what: message, remedy: hint }, code, hasOwnInodes: false };
  if (code !== "BACKEND_UNAVAILABLE" && code !== "SANDBOX_START_FAILED") return undefined;
  const isExplained = code === "BACKEND_UNAVAILABLE" && hint !== "";
  const problem = isExplained
    ? { what: message.replace(CANNOT_START, ""), remedy: hint }
    : { what: message, remedy: "See docs/operate/in-a-container.md." };
  return { problem, hasOwnInodes: false };
}

/** The same key: what worked then works now. */
function keyOf({ bubblewrap, uid }: TrialOptions, signs: HostSigns): string {
  const { mtimeMs, size, ino } = statSync(bubblewrap, { throwIfNoEntry: false }) ?? {};
  const own = [process.getuid?.(), namespaceOf("user"), namespaceOf("mnt")];
  const text = JSON.stringify([bootId(), bubblewrap, mtimeMs, size, ino, uid, own, signs]);
  return createHash("sha256").update(text).digest("hex");
}

function namespaceOf(kind: string): number | undefined {
  return statSync(`/proc/self/ns/${kind}`, { throwIfNoEntry: false })?.ino;
}

function recall(stateDir: string, key: string): StartTrial | undefined {
  const [written, inodes] = unlessMissing("", () => readFileSync(join(stateDir, FILE), "utf8")).split("\n");
  return written === key ? { hasOwnInodes: inodes === "own inodes" } : undefined;
}

/** It only saves the next process the trial. */
function remember(stateDir: string, key: string, { hasOwnInodes: own }: StartTrial): void {
  try {
    writeFileAtomic(join(stateDir, FILE), `${key}\n${own ? "own inodes" : "shared inodes"}\n`);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
}

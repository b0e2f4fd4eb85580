import { constants } from "node:os";
import { SandboxError } from "../../../kit/errors.js";

/** Some numbers have two names; the first is the one that people know: SIGABRT, not SIGIOT. */
const NAMES = new Map<number, string>();
for (const [name, number] of Object.entries(constants.signals)) {
  if (!NAMES.has(number)) NAMES.set(number, name);
}

/** The signals that a caller may send to what it has started. */
export const SENDABLE_SIGNALS = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGABRT",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGTERM",
  "SIGCONT",
  "SIGSTOP",
  "SIGTSTP",
  "SIGWINCH",
] as const;
export type SendableSignal = (typeof SENDABLE_SIGNALS)[number];

/** What a signal is called; one that has no name is `SIG` and its number. */
export function signalName(number: number): string {
  return NAMES.get(number) ?? `SIG${number}`;
}

/** The number of a signal that may be sent. INVALID_ARGUMENT: it is none. */
export function sendableSignal(name: SendableSignal): number {
  if (SENDABLE_SIGNALS.includes(name)) return constants.signals[name];
  throw new SandboxError("INVALID_ARGUMENT", `Expected the name of a signal, got ${JSON.stringify(name)}`, {
    hint: `One of ${SENDABLE_SIGNALS.join(", ")}.`,
  });
}

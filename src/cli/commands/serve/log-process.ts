import type { ServerLog } from "../../../server/index.js";

/** The exit status of a mistake of ours. */
const OURS = 70;

/**
 * What the process itself says goes into the server's log, as lines of it: Node would print it as it is, with whatever a
 * caller wrote in it. Disposing gives it back to Node.
 */
export function logProcess(log: ServerLog): Disposable {
  const printers = process.listeners("warning");
  const warn = ({ name, message }: Error) => log.warn({ warning: name }, message);
  const end = (error: unknown) => {
    log.fatal({ error }, "the server ends: uncaught exception");
    process.exit(OURS);
  };
  process.removeAllListeners("warning").on("warning", warn);
  process.on("uncaughtException", end);
  return {
    [Symbol.dispose]() {
      process.off("warning", warn).off("uncaughtException", end);
      for (const print of printers) process.on("warning", print);
    },
  };
}

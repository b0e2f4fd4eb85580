import { isIP } from "node:net";
import type { Config } from "../../../core/config/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type { ServeOptions } from "../../../server/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { parsePort } from "../../definition/index.js";
import { Interrupt } from "../../input/index.js";
import { auditDirectory, openAudit, policyFileOf, readConfig } from "../../open/index.js";
import { jsonText, stderr, stdout } from "../../output/index.js";
import { logProcess } from "./log-process.js";

type ServeLog = NonNullable<ServeOptions["log"]>;

/** So much of the log waits at most, and not longer than that. */
const LOG_BYTES = 4096;
const LOG_MS = 200;
/** A stop that takes longer waits for something. */
const QUICK_STOP_MS = 500;

export interface ServeCommandOptions extends GlobalOptions {
  readonly host?: string;
  readonly port?: string;
  readonly policy?: string;
  readonly backend?: string;
  readonly json?: boolean;
}

/** `skerry serve`: until a signal. A second signal does not wait for what runs. */
export async function serve(options: ServeCommandOptions): Promise<number> {
  const config = withAddress(await readConfig(options), options);
  using interrupt = new Interrupt();
  const [{ serve: start }, audit] = await Promise.all([
    import("../../../server/index.js"),
    openAudit(config),
  ]);
  try {
    await audit?.open();
    const running = await start({
      config,
      policyFile: policyFileOf(config, options.policy),
      audit,
      auditDirectory: audit === undefined ? undefined : auditDirectory(config),
      backend: options.backend,
      log: await openLog(options),
      // Everything inside ends with this process, at once.
      onOverdue: () => process.kill(process.pid, "SIGKILL"),
    });
    try {
      const { url, firstKey } = running;
      using _ = logProcess(running.log);
      if (options.json) await stdout.write(`${jsonText({ url, key: firstKey?.secret })}\n`);
      else if (firstKey !== undefined) await tellKey(firstKey.secret);
      if (stderr.isTerminal) await stderr.write(`skerry listens on ${url}; Ctrl-C stops it\n`);
      const lost = await Promise.race([running.lost, untilAborted(interrupt.signal)]);
      if (lost !== undefined) throw lost;
    } finally {
      using _ = tellWait(config.server.stopDeadlineMs);
      await running.stop();
    }
  } finally {
    await audit?.close();
  }
  // Stopping is what the signal asked for.
  return 0;
}

/** Tells the person at the terminal how long a stop may take, unless nothing runs and it is over before that. */
function tellWait(deadlineMs: number): Disposable {
  const words = `stopping: running calls have up to ${deadlineMs / 1000} s; Ctrl-C again stops at once\n`;
  const timer = setTimeout(() => void (stderr.isTerminal && stderr.write(words)), QUICK_STOP_MS);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Once: to the person at the terminal, or without one on standard output. Standard error is then the log, which is kept. */
async function tellKey(secret: string): Promise<void> {
  if (!stderr.isTerminal) return stdout.write(`first API key, shown this once: ${secret}\n`);
  return stderr.write(
    [
      "This is the first API key of this server. It may do everything, and is not shown again:",
      "",
      `  ${secret}`,
      "",
      "Make others with: skerry keys create --name NAME",
      "",
    ].join("\n"),
  );
}

/** Lines of JSON for programs, columns for a person. */
async function openLog({ color }: GlobalOptions): Promise<ServeLog> {
  if (!stderr.isTerminal) return openLines();
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    colorize: color && !process.env["NO_COLOR"],
    destination: 2,
    sync: true,
    ignore: "pid,hostname",
    singleLine: true,
    translateTime: "SYS:HH:MM:ss",
  });
}

/** Written many at a time: a request does not wait for the reader of the log. The last are written at the exit. */
async function openLines(): Promise<ServeLog> {
  const { destination } = await import("pino");
  const lines = destination({ dest: 2, sync: false, minLength: LOG_BYTES, periodicFlush: LOG_MS });
  // A closed output must not end the server.
  lines.on("error", () => undefined);
  return lines;
}

function withAddress(config: Config, { host, port }: ServeCommandOptions): Config {
  if (host !== undefined && host !== "localhost" && isIP(host) === 0) {
    throw new SandboxError("INVALID_ARGUMENT", "--host must be an address of this machine", {
      hint: "For example 127.0.0.1.",
    });
  }
  const number = port === undefined ? config.server.port : port === "0" ? 0 : parsePort("--port", port);
  return { ...config, server: { ...config.server, host: host ?? config.server.host, port: number } };
}

function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

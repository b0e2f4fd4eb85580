import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { systemCode } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { Violation } from "../backend.js";
import { VIOLATIONS_SOCKET } from "./host-request.js";

const MOST_KEPT = 1000;
const LONGEST_LINE = 4096;
const ANSWER_TIMEOUT_MS = 500;

/** Takes what the host process reports of one sandbox. What was tried is the hostile side's text. */
export class ViolationLog {
  readonly #server: Server;
  #socket: Socket | undefined;
  #kept: Violation[] = [];
  #answered: (() => void) | undefined;
  /** The query that is out, and the next one, which all later callers wait for. */
  #asking: Promise<void> | undefined;
  #askingNext: Promise<void> | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** The server is for tests. */
  static async open(directory: string, server: Server = createServer()): Promise<ViolationLog> {
    const log = new ViolationLog(server);
    const path = join(directory, VIOLATIONS_SOCKET);
    server.on("error", (error) => log.#lose(error));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(path, () => {
        server.off("error", reject);
        resolve();
      });
    });
    // The directory is closed to everybody but the sandbox's user.
    chmodSync(path, 0o666);
    server.unref();
    server.on("connection", (socket) => log.#accept(socket));
    return log;
  }

  /** What came since it was last asked, and what is on its way. */
  async take(): Promise<readonly Violation[]> {
    await this.#catchUp();
    const taken = this.#kept;
    this.#kept = [];
    return taken;
  }

  close(): void {
    this.#socket?.destroy();
    this.#server.close();
    this.#answered?.();
  }

  /** A caller that comes while a query is out waits for the next one: the answer may have left before its violation. */
  #catchUp(): Promise<void> {
    if (this.#asking === undefined) {
      this.#asking = this.#ask().finally(() => {
        this.#asking = undefined;
      });
      return this.#asking;
    }
    this.#askingNext ??= this.#asking.then(() => {
      this.#askingNext = undefined;
      return this.#catchUp();
    });
    return this.#askingNext;
  }

  async #ask(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ANSWER_TIMEOUT_MS);
      this.#answered = () => {
        clearTimeout(timer);
        resolve();
      };
      socket.write("\n");
    });
    this.#answered = undefined;
  }

  #accept(socket: Socket): void {
    if (this.#socket !== undefined) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    socket.unref();
    let rest = "";
    socket
      .setEncoding("utf8")
      .on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        if (rest.length > LONGEST_LINE) socket.destroy();
        for (const line of lines) this.#read(line);
      })
      .on("error", () => undefined)
      .on("close", () => this.#answered?.());
  }

  #read(line: string): void {
    if (line === "") return this.#answered?.();
    const violation = parseViolation(line);
    if (violation !== undefined) this.#keep(violation);
  }

  #keep(violation: Violation): void {
    if (this.#kept.length < MOST_KEPT) this.#kept.push(violation);
  }

  /** A violation that cannot be reported is missing in the records, and must not end this process. */
  #lose(error: Error): void {
    this.#keep({
      at: new Date(),
      what: `reports of sandbox-runtime are lost (${systemCode(error) ?? "error"})`,
    });
  }
}

/** One line of the host process; undefined: not one of its own. */
export function parseViolation(line: string): Violation | undefined {
  let content: unknown;
  try {
    content = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { at, what } = (content ?? {}) as { at?: unknown; what?: unknown };
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0 || typeof what !== "string")
    return undefined;
  return { at: new Date(at), what: escapeUnsafe(what).slice(0, 500) };
}

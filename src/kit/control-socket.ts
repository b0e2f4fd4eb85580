import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { createServer, connect as dial, type Socket } from "node:net";
import { join } from "node:path";
import { ERROR_CODES, type ErrorCode, SandboxError, systemCode, toSandboxError } from "./errors.js";
import { unlessMissing } from "./if-missing.js";
import { isOrphaned, processLabel } from "./process-label.js";

/** The kernel allows no longer path for a socket. */
const MAX_PATH_BYTES = 107;
const MAX_LINE_BYTES = 64 * 1024;
const ANSWER_MS = 10_000;

/** A socket of this process that other processes of this user send requests to. */
export interface ControlSocket {
  close(): Promise<void>;
}

/** Sockets of one kind, in a directory below the state directory that only this user can enter. */
export interface ControlSocketFolder {
  readonly stateDir: string;
  readonly name: string;
}

/**
 * Opens a socket named after this process, and `ending`. `serve` gets one line of each connection; if it fails, the
 * error is the answer. Undefined: the path is too long for a socket.
 */
export async function listenOnControlSocket(
  folder: ControlSocketFolder,
  ending: string,
  serve: (line: string, socket: Socket) => Promise<void>,
): Promise<ControlSocket | undefined> {
  const path = join(pathOf(folder), processLabel(randomBytes(4).toString("hex")) + ending);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
  mkdirSync(pathOf(folder), { recursive: true, mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    readLine(socket, MAX_LINE_BYTES)
      .then((line) => serve(line, socket))
      .catch((error: unknown) => {
        const { code, message, hint } = toSandboxError(error);
        socket.end(`${JSON.stringify({ ok: false, code, message, hint })}\n`);
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  // A connection that cannot be accepted must not end the process.
  server.on("error", () => undefined);
  // The socket alone must not keep the process alive.
  server.unref();
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}

/** Sends one request to such a socket. Resolves to the answer and the connection; a refusal is thrown as its error. */
export async function sendControlRequest(
  path: string,
  request: unknown,
  { maxAnswerBytes = MAX_LINE_BYTES } = {},
): Promise<{ readonly answer: Readonly<Record<string, unknown>>; readonly socket: Socket }> {
  const socket = dial({ path, allowHalfOpen: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    socket.on("error", () => undefined);
    socket.write(`${JSON.stringify(request)}\n`);
    const answer = parseRecord(await readLine(socket, maxAnswerBytes));
    if (answer["ok"] === true) return { answer, socket };
    throw refusal(answer);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The paths of the sockets whose processes still run. */
export function listLiveSockets(folder: ControlSocketFolder): string[] {
  return namesIn(folder)
    .filter((name) => !isOrphaned(name))
    .map((name) => join(pathOf(folder), name));
}

/** Removes the sockets of processes that were killed; returns how many. */
export function reapSockets(folder: ControlSocketFolder): number {
  const gone = namesIn(folder).filter(isOrphaned);
  for (const name of gone) rmSync(join(pathOf(folder), name), { force: true });
  return gone.length;
}

/** True when the request failed because the other process has ended or is ending. */
export function isPeerGone(error: unknown): boolean {
  return (
    error instanceof PeerGone ||
    ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(systemCode(error) ?? "")
  );
}

/** The JSON object of a line; `{}` for any other JSON value. */
export function parseRecord(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line);
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The other process ended before it answered. */
class PeerGone extends SandboxError {
  constructor() {
    super("SANDBOX_LOST", "The other process has ended");
  }
}

/** Reads one line; what follows stays in the stream. */
function readLine(socket: Socket, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void) => {
      clearTimeout(timer);
      socket.off("readable", read).off("end", ended).off("close", ended);
      act();
    };
    const fail = (message: string) => settle(() => reject(new SandboxError("SANDBOX_LOST", message)));
    const read = () => {
      for (let part: Buffer | null = socket.read(); part !== null; part = socket.read()) {
        const end = part.indexOf("\n");
        parts.push(end < 0 ? part : part.subarray(0, end));
        size += part.length;
        if (end >= 0) {
          const rest = part.subarray(end + 1);
          if (rest.length > 0) socket.unshift(rest);
          return settle(() => resolve(Buffer.concat(parts).toString()));
        }
        if (size > maxBytes) return fail("The other process sent too much");
      }
    };
    const ended = () => settle(() => reject(new PeerGone()));
    const timer = setTimeout(() => fail("The other process does not answer"), ANSWER_MS);
    socket.on("readable", read).once("end", ended).once("close", ended);
    read();
  });
}

function refusal({ code, message, hint }: Readonly<Record<string, unknown>>): SandboxError {
  const known = typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
  return new SandboxError(
    known ? (code as ErrorCode) : "INTERNAL",
    typeof message === "string" ? message : "The other process refused",
    { ...(typeof hint === "string" && { hint }) },
  );
}

function namesIn(folder: ControlSocketFolder): string[] {
  return unlessMissing([], () => readdirSync(pathOf(folder)));
}

function pathOf({ stateDir, name }: ControlSocketFolder): string {
  return join(stateDir, name);
}

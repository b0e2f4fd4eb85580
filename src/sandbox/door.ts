import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { createServer, connect as dial, type Socket } from "node:net";
import { basename, join } from "node:path";
import type { Duplex } from "node:stream";
import { isOrphaned, labelFor } from "../backends/process-label.js";
import { ERROR_CODES, type ErrorCode, SandboxError, systemCode, toSandboxError } from "../errors.js";
import { joinStreams } from "./join-streams.js";

/** A name of a socket is no longer than this. */
const MAX_PATH_BYTES = 107;
const MAX_LINE_BYTES = 64 * 1024;
const ANSWER_MS = 10_000;

/** What another process of this user may ask a running session for. */
export type DoorRequest =
  | { readonly ask: "connect"; readonly port: number }
  | { readonly ask: "change-egress"; readonly allow: readonly string[]; readonly deny: readonly string[] };

/** What a running session does about it. */
export interface DoorKeeper {
  connect(port: number): Promise<Duplex>;
  changeEgress(change: {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
  }): Promise<void>;
}

export interface Door {
  close(): Promise<void>;
}

/**
 * Lets other processes of this user reach a session that runs in this one, by a socket in a directory that only this
 * user can enter. Programs inside never see it. Undefined: the state directory's path is too long for a socket.
 */
export async function openDoor(
  stateDir: string,
  session: string,
  keeper: DoorKeeper,
): Promise<Door | undefined> {
  const folder = folderOf(stateDir);
  const path = join(folder, `${labelFor(randomBytes(4).toString("hex"))}.${digest(session)}`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    void attend(socket, keeper);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  // A connection that cannot be accepted is that connection's trouble.
  server.on("error", () => undefined);
  // It must not keep a process alive that has nothing else to do.
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

/** Asks every process that runs the session, one after the other, until one agrees. */
export async function knock(stateDir: string, session: string, request: DoorRequest): Promise<Duplex> {
  let refused: SandboxError | undefined;
  for (const path of doorsOf(stateDir, session)) {
    try {
      return await ask(path, request);
    } catch (error) {
      if (!isGone(error)) refused = toSandboxError(error);
    }
  }
  throw (
    refused ??
    new SandboxError("SANDBOX_NOT_RUNNING", `Session ${JSON.stringify(session)} does not run`, {
      hint: "Start something in it first, such as: skerry exec --session NAME -- COMMAND",
    })
  );
}

/** The same of every process that runs the session, or of every other one; resolves to how many there were. */
export async function knockEverywhere(
  stateDir: string,
  session: string,
  request: DoorRequest,
  { exceptOwn = false }: { readonly exceptOwn?: boolean } = {},
): Promise<number> {
  const isOwn = (path: string) => basename(path).startsWith(labelFor(""));
  const paths = doorsOf(stateDir, session).filter((each) => !exceptOwn || !isOwn(each));
  // One that does not answer must not keep the others from hearing it.
  const answers = await Promise.allSettled(paths.map(async (path) => (await ask(path, request)).destroy()));
  const failures = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  const refused = failures.filter((error) => !isGone(error));
  const done = answers.length - failures.length;
  if (refused.length === 0) return done;
  const { code, message, hint } = toSandboxError(refused[0]);
  const many = answers.length === 1 ? "" : ` (${refused.length} of ${answers.length} processes that run it)`;
  throw new SandboxError(code, message + many, { ...(hint !== undefined && { hint }), cause: refused[0] });
}

/** True when some process lets others reach the session. */
export function hasDoor(stateDir: string, session: string): boolean {
  return doorsOf(stateDir, session).length > 0;
}

/** Removes the doors of processes that were killed; resolves to how many. */
export function reapDoors(stateDir: string): number {
  const gone = doorNames(stateDir).filter(isOrphaned);
  for (const name of gone) rmSync(join(folderOf(stateDir), name), { force: true });
  return gone.length;
}

async function attend(socket: Socket, keeper: DoorKeeper): Promise<void> {
  try {
    const request = parseRequest(await readLine(socket));
    if (request.ask === "change-egress") {
      await keeper.changeEgress(request);
      socket.end(`${JSON.stringify({ ok: true })}\n`);
      return;
    }
    const inside = await keeper.connect(request.port);
    socket.write(`${JSON.stringify({ ok: true })}\n`);
    joinStreams(socket, inside);
  } catch (error) {
    const { code, message, hint } = toSandboxError(error);
    socket.end(`${JSON.stringify({ ok: false, code, message, hint })}\n`);
  }
}

async function ask(path: string, request: DoorRequest): Promise<Duplex> {
  const socket = dial({ path, allowHalfOpen: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    socket.on("error", () => undefined);
    socket.write(`${JSON.stringify(request)}\n`);
    const answer: unknown = JSON.parse(await readLine(socket));
    if (isRecord(answer) && answer["ok"] === true) return socket;
    throw refusal(answer);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** It ended before it had answered. */
class WentAway extends SandboxError {
  constructor() {
    super("SANDBOX_LOST", "The session's process went away");
  }
}

/** One line; what comes after it stays in the stream. */
function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0);
    const settle = (act: () => void) => {
      clearTimeout(timer);
      socket.off("readable", read).off("end", ended).off("close", ended);
      act();
    };
    const fail = (message: string) => settle(() => reject(new SandboxError("SANDBOX_LOST", message)));
    const read = () => {
      for (let part: Buffer | null = socket.read(); part !== null; part = socket.read()) {
        const end = part.indexOf("\n");
        if (end >= 0) {
          text = Buffer.concat([text, part.subarray(0, end)]);
          const rest = part.subarray(end + 1);
          if (rest.length > 0) socket.unshift(rest);
          return settle(() => resolve(text.toString()));
        }
        text = Buffer.concat([text, part]);
        if (text.length > MAX_LINE_BYTES) return fail("The session's process said too much");
      }
    };
    const ended = () => settle(() => reject(new WentAway()));
    const timer = setTimeout(() => fail("The session's process does not answer"), ANSWER_MS);
    socket.on("readable", read).once("end", ended).once("close", ended);
    read();
  });
}

function parseRequest(line: string): DoorRequest {
  const request: unknown = JSON.parse(line);
  if (isRecord(request)) {
    const { ask, port, allow, deny } = request;
    if (ask === "connect" && typeof port === "number") return { ask, port };
    if (ask === "change-egress" && isTexts(allow) && isTexts(deny)) return { ask, allow, deny };
  }
  throw new SandboxError("INVALID_ARGUMENT", "This is not something to ask a session for");
}

function refusal(answer: unknown): SandboxError {
  const { code, message, hint } = isRecord(answer) ? answer : {};
  const known = typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
  return new SandboxError(
    known ? (code as ErrorCode) : "INTERNAL",
    typeof message === "string" ? message : "The session's process refused",
    { ...(typeof hint === "string" && { hint }) },
  );
}

/** The process has ended since, or is ending. */
function isGone(error: unknown): boolean {
  return (
    error instanceof WentAway ||
    ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(systemCode(error) ?? "")
  );
}

function doorsOf(stateDir: string, session: string): string[] {
  const ending = `.${digest(session)}`;
  return doorNames(stateDir)
    .filter((name) => name.endsWith(ending) && !isOrphaned(name))
    .map((name) => join(folderOf(stateDir), name));
}

function doorNames(stateDir: string): string[] {
  try {
    return readdirSync(folderOf(stateDir));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

function folderOf(stateDir: string): string {
  return join(stateDir, "doors");
}

function digest(session: string): string {
  return createHash("sha256").update(session).digest("hex").slice(0, 16);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === "string");
}

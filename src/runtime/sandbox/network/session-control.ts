import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { basename } from "node:path";
import type { Duplex } from "node:stream";
import {
  type ControlSocket,
  type ControlSocketFolder,
  isPeerGone,
  listenOnControlSocket,
  listLiveSockets,
  parseRecord,
  reapSockets,
  sendControlRequest,
} from "../../../kit/control-socket.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { processLabel } from "../../../kit/process-label.js";
import { joinStreams } from "./open-port.js";

export type { ControlSocket } from "../../../kit/control-socket.js";

/** What another process of this user may ask a running session for. */
export type SessionControlRequest =
  | { readonly ask: "connect"; readonly port: number }
  | { readonly ask: "change-egress"; readonly allow: readonly string[]; readonly deny: readonly string[] };

/** What a running session does about it. */
export interface SessionControlHandler {
  connect(port: number): Promise<Duplex>;
  changeEgress(change: {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
  }): Promise<void>;
}

/**
 * Lets other processes of this user reach a session that runs in this one, by a socket in a directory that only this
 * user can enter. Programs inside never see it. Undefined: the state directory's path is too long for a socket.
 */
export function openControlSocket(
  stateDir: string,
  session: string,
  handler: SessionControlHandler,
): Promise<ControlSocket | undefined> {
  return listenOnControlSocket(folderOf(stateDir), endingOf(session), (line, socket) =>
    answer(line, socket, handler),
  );
}

/** Asks every process that runs the session, one after the other, until one agrees. */
export async function requestFromSession(
  stateDir: string,
  session: string,
  request: SessionControlRequest,
): Promise<Duplex> {
  let refused: SandboxError | undefined;
  for (const path of socketsOf(stateDir, session)) {
    try {
      return (await sendControlRequest(path, request)).socket;
    } catch (error) {
      if (!isPeerGone(error)) refused = toSandboxError(error);
    }
  }
  throw (
    refused ??
    new SandboxError("SANDBOX_NOT_RUNNING", `Session ${JSON.stringify(session)} does not run`, {
      hint: "Start something in it first.",
    })
  );
}

/** The same of every process that runs the session, or of every other one; resolves to how many there were. */
export async function broadcastToSession(
  stateDir: string,
  session: string,
  request: SessionControlRequest,
  { exceptOwn = false }: { readonly exceptOwn?: boolean } = {},
): Promise<number> {
  const isOwn = (path: string) => basename(path).startsWith(processLabel(""));
  const paths = socketsOf(stateDir, session).filter((each) => !exceptOwn || !isOwn(each));
  // One that does not answer must not keep the others from hearing it.
  const answers = await Promise.allSettled(
    paths.map(async (path) => (await sendControlRequest(path, request)).socket.destroy()),
  );
  const failures = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  const refused = failures.filter((error) => !isPeerGone(error));
  const done = answers.length - failures.length;
  if (refused.length === 0) return done;
  const { code, message, hint } = toSandboxError(refused[0]);
  const many = answers.length === 1 ? "" : ` (${refused.length} of ${answers.length} processes that run it)`;
  throw new SandboxError(code, message + many, { ...(hint !== undefined && { hint }), cause: refused[0] });
}

/** True when some process lets others reach the session. */
export function hasControlSocket(stateDir: string, session: string): boolean {
  return socketsOf(stateDir, session).length > 0;
}

/** Removes the sockets of processes that were killed; returns how many. */
export function reapControlSockets(stateDir: string): number {
  return reapSockets(folderOf(stateDir));
}

async function answer(line: string, socket: Socket, handler: SessionControlHandler): Promise<void> {
  const request = parseRequest(line);
  if (request.ask === "change-egress") {
    await handler.changeEgress(request);
    socket.end(`${JSON.stringify({ ok: true })}\n`);
    return;
  }
  const inside = await handler.connect(request.port);
  socket.write(`${JSON.stringify({ ok: true })}\n`);
  joinStreams(socket, inside);
}

function parseRequest(line: string): SessionControlRequest {
  const { ask, port, allow, deny } = parseRecord(line);
  if (ask === "connect" && typeof port === "number") return { ask, port };
  if (ask === "change-egress" && isTexts(allow) && isTexts(deny)) return { ask, allow, deny };
  throw new SandboxError("INVALID_ARGUMENT", "Unknown request to a session");
}

function socketsOf(stateDir: string, session: string): string[] {
  return listLiveSockets(folderOf(stateDir)).filter((path) => path.endsWith(endingOf(session)));
}

function folderOf(stateDir: string): ControlSocketFolder {
  return { stateDir, name: "control" };
}

function endingOf(session: string): string {
  return `.${createHash("sha256").update(session).digest("hex").slice(0, 16)}`;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === "string");
}

import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { basename } from "node:path";
import type { Duplex } from "node:stream";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { labelFor } from "../../kit/process-label.js";
import {
  askUser,
  type Door,
  isGone,
  listenForUser,
  parseRecord,
  reapSockets,
  type SocketFolder,
  socketsIn,
} from "../../kit/user-socket.js";
import { joinStreams } from "./join-streams.js";

export type { Door } from "../../kit/user-socket.js";

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

/**
 * Lets other processes of this user reach a session that runs in this one, by a socket in a directory that only this
 * user can enter. Programs inside never see it. Undefined: the state directory's path is too long for a socket.
 */
export function openDoor(stateDir: string, session: string, keeper: DoorKeeper): Promise<Door | undefined> {
  return listenForUser(folderOf(stateDir), endingOf(session), (line, socket) => attend(line, socket, keeper));
}

/** Asks every process that runs the session, one after the other, until one agrees. */
export async function knock(stateDir: string, session: string, request: DoorRequest): Promise<Duplex> {
  let refused: SandboxError | undefined;
  for (const path of doorsOf(stateDir, session)) {
    try {
      return (await askUser(path, request)).socket;
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
  const answers = await Promise.allSettled(
    paths.map(async (path) => (await askUser(path, request)).socket.destroy()),
  );
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

/** Removes the doors of processes that were killed; returns how many. */
export function reapDoors(stateDir: string): number {
  return reapSockets(folderOf(stateDir));
}

async function attend(line: string, socket: Socket, keeper: DoorKeeper): Promise<void> {
  const request = parseRequest(line);
  if (request.ask === "change-egress") {
    await keeper.changeEgress(request);
    socket.end(`${JSON.stringify({ ok: true })}\n`);
    return;
  }
  const inside = await keeper.connect(request.port);
  socket.write(`${JSON.stringify({ ok: true })}\n`);
  joinStreams(socket, inside);
}

function parseRequest(line: string): DoorRequest {
  const { ask, port, allow, deny } = parseRecord(line);
  if (ask === "connect" && typeof port === "number") return { ask, port };
  if (ask === "change-egress" && isTexts(allow) && isTexts(deny)) return { ask, allow, deny };
  throw new SandboxError("INVALID_ARGUMENT", "This is not something to ask a session for");
}

function doorsOf(stateDir: string, session: string): string[] {
  return socketsIn(folderOf(stateDir)).filter((path) => path.endsWith(endingOf(session)));
}

function folderOf(stateDir: string): SocketFolder {
  return { stateDir, name: "doors" };
}

function endingOf(session: string): string {
  return `.${createHash("sha256").update(session).digest("hex").slice(0, 16)}`;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === "string");
}

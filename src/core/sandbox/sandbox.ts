import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { checkOptions, type OptionNames } from "../../kit/check-options.js";
import { SandboxError } from "../../kit/errors.js";
import { stateDirectoryOf } from "../../kit/state-directory.js";
import {
  MANAGER_OPTIONS,
  type SandboxCaller,
  SandboxHandle,
  SandboxManager,
  type SandboxManagerOptions,
} from "../manager/index.js";

/** The manager's options, and whose session it is. */
export interface SandboxOptions extends SandboxManagerOptions, SandboxCaller {
  /** Left out: a name of its own. */
  readonly sessionId?: string;
  /** True: a session of its own, whose files go when it is closed. */
  readonly ephemeral?: boolean;
}

const OPTIONS: OptionNames<SandboxOptions> = {
  ...MANAGER_OPTIONS,
  sessionId: true,
  ephemeral: true,
  agentId: true,
  role: true,
};
const { sessionId: _, ephemeral: __, ...CONNECT_OPTIONS } = OPTIONS;

/** A manager and the handles that share it. The last one to leave closes it. */
interface SharedManager {
  readonly manager: SandboxManager;
  readonly options: SandboxManagerOptions;
  /** How many handles each session has. */
  readonly handles: Map<string, number>;
}

/** Sessions that are open in this process, by place: who connects to one shares its manager. */
const open = new Map<string, SharedManager>();
const closing = new Map<string, Promise<void>>();

/** A session as a scope of its own: `await using sandbox = await Sandbox.create()`. */
export class Sandbox extends SandboxHandle {
  /** A new session. Starts its sandbox. CONFLICT: there is one of that `sessionId`. */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const { sessionId, ephemeral = false, agentId, role, ...rest } = checkOptions(options, OPTIONS);
    const manager = new SandboxManager(rest);
    try {
      const isShared = (rest.mode ?? rest.config?.sandbox.mode) === "shared";
      if (sessionId !== undefined && !ephemeral && !isShared && manager.hasSession(sessionId)) {
        throw new SandboxError("CONFLICT", `There is a session ${JSON.stringify(sessionId)} already`, {
          hint: "Sandbox.connect opens it.",
        });
      }
      return await Sandbox.#open(sessionId ?? `sandbox-${randomUUID()}`, { agentId, role }, ephemeral, {
        manager,
        options: rest,
        handles: new Map(),
      });
    } catch (error) {
      await manager.close();
      throw error;
    }
  }

  /**
   * A session that is there, with its files. One that is open in this process is shared: with what runs in it, and with the options
   * of who opened it. SESSION_NOT_FOUND: there is none of that name on this host. CONFLICT: it is open with other options.
   */
  static async connect(
    sessionId: string,
    options: Omit<SandboxOptions, "sessionId" | "ephemeral"> = {},
  ): Promise<Sandbox> {
    const { agentId, role, ...rest } = checkOptions(options, CONNECT_OPTIONS);
    const place = placeOf(rest, sessionId);
    await closing.get(place);
    const shared = open.get(place);
    if (shared !== undefined) {
      assertSame(rest, shared.options);
      return Sandbox.#open(sessionId, { agentId, role }, false, shared);
    }
    const manager = new SandboxManager(rest);
    try {
      if (manager.hasSession(sessionId))
        return await Sandbox.#open(sessionId, { agentId, role }, false, {
          manager,
          options: rest,
          handles: new Map(),
        });
      throw new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(sessionId)}`, {
        hint: "Sandbox.create makes one.",
      });
    } catch (error) {
      await manager.close();
      throw error;
    }
  }

  static async #open(
    name: string,
    caller: SandboxCaller,
    ephemeral: boolean,
    shared: SharedManager,
  ): Promise<Sandbox> {
    const { manager, options, handles } = shared;
    const handle = await manager.getSandbox(name, { ephemeral });
    const { sessionId } = handle;
    const place = placeOf(options, sessionId);
    handles.set(sessionId, (handles.get(sessionId) ?? 0) + 1);
    open.set(place, shared);
    let isOpen = true;
    /** Lets go of it by `end`, and of the manager where nothing else has it. */
    const leave = (end: () => Promise<void>): Promise<void> => {
      if (!isOpen) return end();
      isOpen = false;
      const left = (handles.get(sessionId) ?? 1) - 1;
      if (left > 0) handles.set(sessionId, left);
      else handles.delete(sessionId);
      if (left > 0) return end();
      open.delete(place);
      const over = (handles.size === 0 ? end().finally(() => manager.close()) : end()).finally(() =>
        closing.delete(place),
      );
      closing.set(
        place,
        over.catch(() => undefined),
      );
      return over;
    };
    return new Sandbox(
      manager,
      { ...caller, sessionId },
      {
        ended: handle.ended,
        close: () => leave(() => handle.close()),
        delete: () => leave(() => handle.delete()),
        open: (forked) => Sandbox.#open(forked, caller, false, shared),
      },
    );
  }
}

function placeOf({ stateDir, config }: SandboxManagerOptions, sessionId: string): string {
  return `${stateDirectoryOf({ stateDir: stateDir ?? config?.sandbox.stateDir })}\0${sessionId}`;
}

/** Whoever shares a session must not believe that it has other rules than it has. */
function assertSame(given: SandboxManagerOptions, theirs: SandboxManagerOptions): void {
  const other = (Object.keys(given) as (keyof SandboxManagerOptions)[]).find(
    (name) =>
      name !== "stateDir" && given[name] !== undefined && !isDeepStrictEqual(given[name], theirs[name]),
  );
  if (other === undefined) return;
  throw new SandboxError("CONFLICT", `The session is open in this process with another ${other}`, {
    hint: "Leave the option out, or close the session first.",
  });
}

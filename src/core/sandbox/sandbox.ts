import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { checkOptions, type OptionNames } from "../../kit/check-options.js";
import { SandboxError } from "../../kit/errors.js";
import { KeyedMutex } from "../../kit/keyed-mutex.js";
import { stateDirectoryOf } from "../../kit/state-directory.js";
import {
  MANAGER_OPTIONS,
  type MountOptions,
  type SandboxCaller,
  SandboxHandle,
  SandboxManager,
  type SandboxManagerOptions,
} from "../manager/index.js";

/** The manager's options, and whose session it is. */
export interface SandboxOptions extends SandboxManagerOptions, MountOptions, SandboxCaller {
  /** Left out: a name of its own. */
  readonly sessionId?: string;
  /** True: a session of its own, whose files go when it is closed. */
  readonly ephemeral?: boolean;
}

const OPTIONS: OptionNames<SandboxOptions> = {
  ...MANAGER_OPTIONS,
  sessionId: true,
  ephemeral: true,
  mounts: true,
  agentId: true,
  role: true,
};
const { sessionId: _, ephemeral: __, mounts: ___, ...CONNECT_OPTIONS } = OPTIONS;

/** A manager and the handles that share it. The last one to leave closes it. */
interface SharedManager {
  readonly manager: SandboxManager;
  readonly options: SandboxManagerOptions;
  /** How many handles each session has. */
  readonly handles: Map<string, number>;
}

/** Sessions that are open in this process, by state directory and name: a further handle shares the manager. */
const open = new Map<string, SharedManager>();
const closing = new Map<string, Promise<void>>();
/** Two openings of one name at once would be two sandboxes of one session. */
const openings = new KeyedMutex();

/** A session as a scope of its own: `await using sandbox = await Sandbox.create()`. */
export class Sandbox extends SandboxHandle {
  /** A new session. Starts its sandbox. CONFLICT: there is one of that `sessionId`. */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const { sessionId, ephemeral = false, mounts, agentId, role, ...rest } = checkOptions(options, OPTIONS);
    const name = sessionId ?? `sandbox-${randomUUID()}`;
    const given = mounts === undefined ? {} : { mounts };
    const isNew = !ephemeral && (rest.mode ?? rest.config?.sandbox.mode) !== "shared";
    return openings.run(slotOf(rest, name), () =>
      withManager(rest, (shared) =>
        Sandbox.#open(name, { agentId, role }, shared, () =>
          isNew
            ? shared.manager.createSandbox(name, given)
            : shared.manager.getSandbox(name, { ephemeral, ...given }),
        ),
      ),
    );
  }

  /**
   * A session that is there, with its files. One that is open in this process is shared: with what runs in it, and with the options
   * it was opened with. SESSION_NOT_FOUND: there is none of that name on this host. CONFLICT: it is open with other options.
   */
  static async connect(
    sessionId: string,
    options: Omit<SandboxOptions, "sessionId" | "ephemeral" | "mounts"> = {},
  ): Promise<Sandbox> {
    const { agentId, role, ...rest } = checkOptions(options, CONNECT_OPTIONS);
    const slot = slotOf(rest, sessionId);
    const caller = { agentId, role };
    return openings.run(slot, async () => {
      await closing.get(slot);
      const shared = open.get(slot);
      if (shared !== undefined) {
        assertSame(rest, shared.options);
        return Sandbox.#open(sessionId, caller, shared);
      }
      return withManager(rest, (own) => {
        if (own.manager.hasSession(sessionId)) return Sandbox.#open(sessionId, caller, own);
        throw new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(sessionId)}`, {
          hint: "Sandbox.create makes one.",
        });
      });
    });
  }

  static async #open(
    name: string,
    caller: SandboxCaller,
    shared: SharedManager,
    getHandle = () => shared.manager.getSandbox(name),
  ): Promise<Sandbox> {
    const { manager, options, handles } = shared;
    const handle = await getHandle();
    const { sessionId } = handle;
    const slot = slotOf(options, sessionId);
    handles.set(sessionId, (handles.get(sessionId) ?? 0) + 1);
    open.set(slot, shared);
    let isOpen = true;
    /** Lets go of it by `end`, and of the manager when no other handle has it. */
    const leave = (end: () => Promise<void>, isDeleted: boolean): Promise<void> => {
      isOpen = false;
      const left = (handles.get(sessionId) ?? 1) - 1;
      if (left > 0) handles.set(sessionId, left);
      else handles.delete(sessionId);
      if (left > 0 && !isDeleted) return end();
      // A session of that name that is made from now on is another one.
      if (open.get(slot) === shared) open.delete(slot);
      const over = handles.size === 0 ? end().finally(() => manager.close()) : end();
      const settled = over.then(
        () => undefined,
        () => undefined,
      );
      closing.set(slot, settled);
      void settled.then(() => closing.get(slot) === settled && closing.delete(slot));
      return over;
    };
    return new Sandbox(
      manager,
      { ...caller, sessionId },
      {
        ended: handle.ended,
        close: () => (isOpen ? leave(() => handle.close(), false) : handle.close()),
        delete: async () => {
          if (isOpen) return leave(() => handle.delete(), true);
          // Opened again since: by another manager, whose sandbox must not outlive the files.
          const other = open.get(slot);
          if (other === undefined || other === shared) return handle.delete();
          await other.manager.deleteSession(sessionId);
        },
        open: (forked) => openings.run(slotOf(options, forked), () => Sandbox.#open(forked, caller, shared)),
      },
    );
  }
}

/** A manager for one session; closed where that does not open. */
async function withManager<Opened>(
  options: SandboxManagerOptions,
  use: (shared: SharedManager) => Promise<Opened>,
): Promise<Opened> {
  const manager = new SandboxManager(options);
  try {
    return await use({ manager, options, handles: new Map() });
  } catch (error) {
    await manager.close();
    throw error;
  }
}

function slotOf({ stateDir, config }: SandboxManagerOptions, sessionId: string): string {
  return `${stateDirectoryOf({ stateDir: stateDir ?? config?.sandbox.stateDir })}\0${sessionId}`;
}

/** A caller must not believe that the session it shares has other rules than it has. */
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

import { randomUUID } from "node:crypto";
import { SandboxError } from "../../kit/errors.js";
import {
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

/** A session as a scope of its own: `await using sandbox = await Sandbox.create()`. */
export class Sandbox extends SandboxHandle {
  /** A new session, or the one of that `sessionId` with the files it has. Starts its sandbox. */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const { sessionId = `sandbox-${randomUUID()}`, ephemeral = false, agentId, role, ...rest } = options;
    const manager = new SandboxManager(rest);
    try {
      const handle = await manager.getSandbox(sessionId, { ephemeral });
      return Sandbox.#of(handle, { agentId, role }, manager, new Set());
    } catch (error) {
      await manager.close();
      throw error;
    }
  }

  /** `open`: the sessions that share the manager. The last one to leave closes it. */
  static #of(
    handle: SandboxHandle,
    caller: SandboxCaller,
    manager: SandboxManager,
    open: Set<string>,
  ): Sandbox {
    const { sessionId } = handle;
    open.add(sessionId);
    return new Sandbox(
      manager,
      { ...caller, sessionId },
      {
        close: async () => {
          open.delete(sessionId);
          await (open.size === 0 ? manager.close() : handle.close());
        },
        delete: async () => {
          open.delete(sessionId);
          try {
            await handle.delete();
          } finally {
            if (open.size === 0) await manager.close();
          }
        },
        open: async (forked) => Sandbox.#of(await manager.getSandbox(forked), caller, manager, open),
      },
    );
  }

  /** A session that is there, with its files. SESSION_NOT_FOUND: there is none of that name on this host. */
  static async connect(
    sessionId: string,
    options: Omit<SandboxOptions, "sessionId" | "ephemeral"> = {},
  ): Promise<Sandbox> {
    const { agentId: _, role: __, ...rest } = options;
    const manager = new SandboxManager(rest);
    const isThere = manager.hasSession(sessionId);
    await manager.close();
    if (isThere) return Sandbox.create({ ...options, sessionId, ephemeral: false });
    throw new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(sessionId)}`, {
      hint: "Sandbox.create makes one.",
    });
  }
}

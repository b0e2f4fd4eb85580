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
    const { sessionId: key, ephemeral, agentId, role, ...rest } = options;
    const manager = new SandboxManager(rest);
    try {
      const handle = await manager.getSandbox(key ?? `sandbox-${randomUUID()}`, {
        ...(ephemeral !== undefined && { ephemeral }),
      });
      const caller = { sessionId: handle.sessionId, agentId, role };
      const remove = async () => {
        try {
          await handle.delete();
        } finally {
          await manager.close();
        }
      };
      return new Sandbox(manager, caller, { close: () => manager.close(), delete: remove });
    } catch (error) {
      await manager.close();
      throw error;
    }
  }

  /** A session that is there, with its files. SESSION_NOT_FOUND: there is none of that name on this host. */
  static async connect(sessionId: string, options: Omit<SandboxOptions, "sessionId"> = {}): Promise<Sandbox> {
    const { ephemeral: _, agentId: __, role: ___, ...rest } = options;
    const manager = new SandboxManager(rest);
    const isThere = manager.hasSession(sessionId);
    await manager.close();
    if (isThere) return Sandbox.create({ ...options, sessionId });
    throw new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(sessionId)}`, {
      hint: "Sandbox.create makes one.",
    });
  }
}

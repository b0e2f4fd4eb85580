import { SandboxError } from "../../../kit/errors.js";
import type { RunCodeOptions, RunningSandbox } from "../../../runtime/sandbox/index.js";
import { DEFAULT_CONFIG } from "../../config/index.js";
import type { ToolResult } from "../result-json.js";
import { SandboxManager, type SandboxManagerOptions } from "../sandbox-manager.js";
import { SandboxHandle } from "./sandbox-handle.js";

/** One session as a scope, past all guards: `await using session = await SessionSandbox.open("chat:42")`. */
export class SessionSandbox extends SandboxHandle {
  readonly sandbox: RunningSandbox;

  private constructor(manager: SandboxManager, handle: SandboxHandle, sandbox: RunningSandbox) {
    const { ended, sessionId } = handle;
    const close = () => manager.close();
    const remove = () => handle.delete().finally(close);
    const open = (forked: string) => manager.getSandbox(forked);
    super(manager, { sessionId }, { ended, close, delete: remove, open });
    this.sandbox = sandbox;
  }

  /** Without a key the files go with the scope; with one they stay for the next. */
  static async open(key?: string, options: SandboxManagerOptions = {}): Promise<SessionSandbox> {
    assertUnguarded(options);
    const manager = new SandboxManager(withoutSecurityMode(options));
    try {
      const handle = await manager.getSandbox(key ?? "session", { ephemeral: key === undefined });
      return new SessionSandbox(manager, handle, await manager.startSandbox(handle.sessionId));
    } catch (error) {
      await manager.close();
      throw error;
    }
  }
}

/** Runs one program in a fresh sandbox that is gone afterwards. */
export async function runCodeOnce(
  code: string,
  options: RunCodeOptions,
  managerOptions: SandboxManagerOptions = {},
): Promise<ToolResult> {
  const manager = new SandboxManager(managerOptions);
  try {
    return await manager.runCodeOnce(code, options);
  } finally {
    await manager.close();
  }
}

/** A scope hands out the sandbox itself, past all guards: guards that are given are refused, not ignored. */
function assertUnguarded(options: SandboxManagerOptions): void {
  const guards = ["policy", "securityMode", "confirmation", "audit", "metrics"] as const;
  const given = guards.find((name) => Object(options)[name] !== undefined);
  if (given === undefined) return;
  throw new SandboxError("INVALID_ARGUMENT", `A SessionSandbox takes no ${given}: it runs your own code`, {
    hint: "For an agent's calls make a SandboxManager and use execute.",
  });
}

/** The configuration's is for calls that are decided about. */
function withoutSecurityMode(options: SandboxManagerOptions): SandboxManagerOptions {
  const { config = DEFAULT_CONFIG } = options;
  const { securityMode: _, ...sandbox } = config.sandbox;
  return { ...options, config: { ...config, sandbox } };
}

import { SandboxError } from "../../../kit/errors.js";
import type {
  ExecOptions,
  Execution,
  ExecutionResult,
  RunCodeOptions,
  RunningSandbox,
  SandboxFiles,
} from "../../../runtime/sandbox/index.js";
import { SandboxManager, type SandboxManagerOptions } from "../sandbox-manager.js";

/** One session as a scope: `await using session = await SessionSandbox.open("chat:42")`. */
export class SessionSandbox {
  readonly sandbox: RunningSandbox;
  readonly #manager: SandboxManager;

  private constructor(manager: SandboxManager, sandbox: RunningSandbox) {
    this.#manager = manager;
    this.sandbox = sandbox;
  }

  /** Without a key the files go with the scope; with one they stay for the next. */
  static async open(key?: string, options: SandboxManagerOptions = {}): Promise<SessionSandbox> {
    assertUnguarded(options);
    const manager = new SandboxManager(options);
    try {
      const sandbox = await manager.startSandbox(key ?? "session", { ephemeral: key === undefined });
      return new SessionSandbox(manager, sandbox);
    } catch (error) {
      await manager.close();
      throw error;
    }
  }

  get files(): SandboxFiles {
    return this.sandbox.files;
  }

  runCode(code: string, options: RunCodeOptions): Execution {
    return this.sandbox.runCode(code, options);
  }

  exec(command: string | readonly string[], options?: ExecOptions): Execution {
    return this.sandbox.exec(command, options);
  }

  close(): Promise<void> {
    return this.#manager.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Runs one program in a fresh sandbox that is gone afterwards. */
export async function runCodeOnce(
  code: string,
  options: RunCodeOptions,
  managerOptions: SandboxManagerOptions = {},
): Promise<ExecutionResult> {
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
  const given = guards.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  throw new SandboxError("INVALID_ARGUMENT", `A SessionSandbox takes no ${given}: it runs your own code`, {
    hint: "For an agent's calls make a SandboxManager and use execute.",
  });
}

import { checkOptions } from "../../../kit/check-options.js";
import { SandboxError } from "../../../kit/errors.js";
import type {
  ExecOptions,
  RunCodeOptions,
  RunningSandbox,
  SandboxFiles,
} from "../../../runtime/sandbox/index.js";
import { Execution } from "../../../runtime/sandbox/index.js";
import { EXEC_OPTIONS, RUN_CODE_OPTIONS } from "../option-names.js";
import { type ToolResult, withJson } from "../result-json.js";
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

  runCode(code: string, options: RunCodeOptions): Execution<ToolResult> {
    return new Execution(async (sink) => {
      const checked = checkOptions<RunCodeOptions>(options ?? {}, RUN_CODE_OPTIONS);
      return withJson(await this.sandbox.runCodeInto(sink, code, checked));
    });
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution<ToolResult> {
    return new Execution(async (sink) => {
      const checked = checkOptions(options, EXEC_OPTIONS);
      const { sandbox } = this;
      return withJson(
        typeof command === "string"
          ? await sandbox.execLineInto(sink, command, checked)
          : await sandbox.execInto(sink, command, checked),
      );
    });
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

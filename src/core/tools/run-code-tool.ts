import type { SandboxManager } from "../manager/index.js";
import { createTools, type ToolCallOptions, type ToolDescription, type ToolSet } from "./create-tools.js";
import type { ToolReply } from "./replies/tool-reply.js";
import type { ToolCaller } from "./tool.js";

/** `run_code` alone, for an agent loop that has a place for one tool. */
export class RunCodeTool {
  readonly #tools: ToolSet;

  constructor(manager: SandboxManager, caller: ToolCaller) {
    this.#tools = createTools(manager, { ...caller, only: ["run_code"] });
  }

  get description(): ToolDescription {
    return this.#tools.list()[0]!;
  }

  execute(
    args: { readonly language: string; readonly code: string },
    options?: ToolCallOptions,
  ): Promise<ToolReply> {
    return this.#tools.call("run_code", args, options);
  }
}

import type { SandboxManager } from "../manager/index.js";
import { createTools, type ToolCallOptions, type ToolSet, type ToolSetOptions } from "./create-tools.js";
import type { ToolReply } from "./replies/tool-reply.js";

/** A call as an agent loop has it. */
export interface WorldAction {
  readonly tool: string;
  readonly args?: unknown;
}

/** The one way from an agent to the world: code, commands, files and a browser, by the name of the tool. */
export class WorldInterface {
  readonly tools: ToolSet;

  constructor(manager: SandboxManager, options: ToolSetOptions) {
    this.tools = createTools(manager, options);
  }

  /** Carries out whatever the name says. Never throws: what goes wrong is a reply, too. */
  execute(action: WorldAction, options: ToolCallOptions = {}): Promise<ToolReply> {
    const { tool, args } = Object(action) as WorldAction;
    return this.tools.call(tool, args, options);
  }
}

import type { ToolReply } from "./replies/tool-reply.js";
import type { Tool, ToolContext } from "./tool.js";

/** What every tool of a browser is called first. */
export const BROWSER_PREFIX = "browser_";

/** One thing that a browser can do: `browser_navigate`, `browser_click`, … */
export type BrowserTool = Omit<Tool, "run">;

/** Runs `browser_*` calls: chooses the browser and passes each call through the manager. */
export interface BrowserTools {
  readonly tools: readonly BrowserTool[];
  execute(name: string, args: unknown, context: ToolContext): Promise<ToolReply>;
}

/** A browser's tool as one of a set. */
export function browserTool(tool: BrowserTool, browser: BrowserTools): Tool {
  return { ...tool, run: (args, context) => browser.execute(tool.name, args, context) };
}

import type { Tool, ToolCallOptions, ToolDescription, ToolReply } from "../core/tools/index.js";
import type { ConfirmationRequest, ConfirmOptions } from "../guard/confirmation/index.js";
import type { Elicited } from "./elicitation.js";

/** What a client's request passes on to the tool call. */
export interface ClientCall {
  /** Aborts when the client cancels it or is gone. */
  readonly signal: AbortSignal;
  /** What the transport calls the request, where it has ids for that. */
  readonly requestId?: string | undefined;
  /** Asks the person at the client, where the answer to this request is to come. */
  readonly ask: (request: ConfirmationRequest, options: ConfirmOptions) => Promise<Elicited>;
}

/** The tools as a connection uses them: a `ToolSet`, or a wrapper around the calls of one. */
export interface ClientTools {
  readonly tools: readonly Tool[];
  list(): ToolDescription[];
  call(name: string, args: unknown, call: ClientCall & Pick<ToolCallOptions, "onOutput">): Promise<ToolReply>;
}

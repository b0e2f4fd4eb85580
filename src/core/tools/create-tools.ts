import type { z } from "zod";
import { closestWord } from "../../kit/closest-word.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { oneLine } from "../../kit/one-line.js";
import { validateSessionKey } from "../../runtime/workspace/index.js";
import type { SandboxManager } from "../manager/index.js";
import { BROWSER_PREFIX, type BrowserTools, browserTool } from "./browser-tools.js";
import { checkpoint } from "./catalog/checkpoint.js";
import { fileDelete } from "./catalog/file-delete.js";
import { fileEdit } from "./catalog/file-edit.js";
import { fileList } from "./catalog/file-list.js";
import { fileRead } from "./catalog/file-read.js";
import { fileSearch } from "./catalog/file-search.js";
import { fileWrite } from "./catalog/file-write.js";
import { portOpen } from "./catalog/port-open.js";
import { processLogs } from "./catalog/process-logs.js";
import { processStart } from "./catalog/process-start.js";
import { processStop } from "./catalog/process-stop.js";
import { requestNetwork } from "./catalog/request-network.js";
import { rollback } from "./catalog/rollback.js";
import { runCode } from "./catalog/run-code.js";
import { runTests } from "./catalog/run-tests.js";
import { shellExec } from "./catalog/shell-exec.js";
import { describeNetwork } from "./describe-sandbox.js";
import { type JsonSchema, schemaFor } from "./model-schema.js";
import { parseArguments } from "./parse-arguments.js";
import { cutMiddle, MAX_OWN_CHARACTERS, MAX_TEXT_CHARACTERS } from "./replies/model-text.js";
import { checkImages } from "./replies/reply-images.js";
import { errorReply, invalidArguments, type ToolReply } from "./replies/tool-reply.js";
import type { Tool, ToolAnnotations, ToolCaller, ToolContext } from "./tool.js";

export interface ToolSetOptions extends ToolCaller {
  /** Only these; left out: all but those that are there on request: `process_start` and the like. */
  readonly only?: readonly string[];
  /** Tools of your own, made with `defineTool`. */
  readonly more?: readonly Tool[];
  /** What carries out `browser_*`; left out: those are refused. */
  readonly browser?: BrowserTools;
}

/** A tool as any model's API wants to know it. */
export interface ToolDescription<Name extends string = string> {
  readonly name: Name;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

export interface ToolCallOptions extends Pick<ToolContext, "signal" | "onOutput"> {
  /** What this call is called where it came from, for the record. Left out: the set's own. */
  readonly requestId?: string | undefined;
}

/** The tools that come with every session. */
const BUILT_IN = [
  runCode,
  shellExec,
  fileRead,
  fileWrite,
  fileEdit,
  fileList,
  fileSearch,
  fileDelete,
  runTests,
] as const;
/** What an agent has only where it is named: each takes room in every request, and some reach further. */
const ON_REQUEST = [
  processStart,
  processLogs,
  processStop,
  portOpen,
  checkpoint,
  rollback,
  requestNetwork,
] as const;
/** What they reach stands in their description. */
const REACHING: readonly string[] = ["run_code", "shell_exec", "process_start"];

const OWN: ReadonlySet<object> = new Set([...BUILT_IN, ...ON_REQUEST]);
export const BUILT_IN_TOOL_NAMES: readonly string[] = BUILT_IN.map(({ name }) => name);
export const TOOL_NAMES_ON_REQUEST: readonly string[] = ON_REQUEST.map(({ name }) => name);

export type BuiltInToolName = (typeof BUILT_IN)[number]["name"];

/** The names of the tools that such options give; `string` where they do not say. */
export type ToolNameOf<Options extends ToolSetOptions> = Options extends {
  readonly only: readonly (infer Name extends string)[];
}
  ? Name
  : Options extends Without<"only" | "browser">
    ? BuiltInToolName | AddedNameOf<Options>
    : string;

type AddedNameOf<Options extends ToolSetOptions> = Options extends {
  readonly more: readonly { readonly name: infer Name extends string }[];
}
  ? Name
  : Options extends Without<"more">
    ? never
    : string;

// With the property that all options have: those without others would extend nothing that is optional throughout.
type Without<Keys extends keyof ToolSetOptions> = Pick<ToolSetOptions, "sessionId"> & {
  readonly [Key in Keys]?: undefined;
};

/** An agent's tools in one session. Every call takes the manager's steps: policy, risk, confirmation, sandbox, audit. */
export class ToolSet<Name extends string = string> {
  readonly #manager: SandboxManager;
  readonly #caller: ToolCaller;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #browser: BrowserTools | undefined;

  constructor(manager: SandboxManager, options: ToolSetOptions) {
    const { only, more = [], browser, ...caller } = options;
    validateSessionKey(caller.sessionId);
    this.#manager = manager;
    this.#caller = caller;
    this.#browser = browser;
    const requested = ON_REQUEST.filter(({ name }) => only?.includes(name));
    const all = [
      ...BUILT_IN,
      ...requested,
      ...more,
      ...(browser?.tools ?? []).map((each) => browserTool(each, browser!)),
    ];
    const tools = new Map(all.map((tool) => [tool.name, tool]));
    const unknown = only?.find((name) => !tools.has(name));
    if (unknown !== undefined) throw unknownTool(unknown, [...tools.keys(), ...TOOL_NAMES_ON_REQUEST]);
    this.#tools = new Map([...tools].filter(([name]) => only === undefined || only.includes(name)));
  }

  /** Name, description and JSON Schema of each: for any model's API. */
  list(): ToolDescription<Name>[] {
    const network = describeNetwork(this.#manager.facts.network);
    return this.tools.map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: REACHING.includes(tool.name) ? `${tool.description} ${network}` : tool.description,
      inputSchema: schemaFor(tool, OWN.has(tool)),
      annotations: tool.annotations,
    }));
  }

  /** The tools themselves, with their schemas. */
  get tools(): readonly Tool<z.ZodObject, Name>[] {
    return [...this.#tools.values()] as Tool<z.ZodObject, Name>[];
  }

  /**
   * Carries out one call; arguments are an object, or the JSON text that a model wrote. Never throws: what goes wrong is a
   * reply, too.
   */
  async call(name: string, args: unknown, options: ToolCallOptions = {}): Promise<ToolReply> {
    try {
      const tool = this.#find(name);
      const { signal, onOutput, requestId } = options;
      const caller = requestId === undefined ? this.#caller : { ...this.#caller, requestId };
      const context: ToolContext = { manager: this.#manager, caller, signal, onOutput };
      return bounded(await tool.run(parseArguments(tool, args), context), tool);
    } catch (error) {
      return errorReply(error);
    }
  }

  #find(name: string): Tool {
    const tool = this.#tools.get(name);
    if (tool !== undefined) return tool;
    if (typeof name === "string" && name.startsWith(BROWSER_PREFIX) && this.#browser === undefined) {
      throw invalidArguments(
        `${escapeUnsafe(name)}: there is no browser here`,
        "Pass a browser to createTools: { browser }.",
      );
    }
    throw unknownTool(name, [...this.#tools.keys()]);
  }
}

/** The tools of an agent's session. */
export function createTools<const Options extends ToolSetOptions>(
  manager: SandboxManager,
  options: Options,
): ToolSet<ToolNameOf<Options>> {
  return new ToolSet(manager, options);
}

/** Bounds the reply of any tool: a summary of one line, a text of limited length, pictures that are some. */
function bounded(reply: ToolReply, { maxTextCharacters = MAX_TEXT_CHARACTERS }: Tool): ToolReply {
  const { images, ...rest } = reply;
  const { taken, leftOut } = checkImages(images ?? []);
  const text = cutMiddle(reply.text, maxTextCharacters + MAX_OWN_CHARACTERS);
  return {
    ...rest,
    summary: oneLine(reply.summary),
    text: leftOut === "" ? text : `${text}\n${leftOut}`,
    ...(taken.length > 0 && { images: taken }),
  };
}

function unknownTool(name: unknown, names: readonly string[]) {
  const text = String(name).slice(0, 100);
  const meant = closestWord(text, names);
  return invalidArguments(
    `There is no tool ${JSON.stringify(escapeUnsafe(text))}`,
    meant === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${meant}?`,
  );
}

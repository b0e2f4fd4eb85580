import type { SandboxSessionProcesses, SessionProcess, SessionProcessEvent } from "@skerry/client";
import { checkOptions, type OptionNames } from "../../../kit/check-options.js";
import type { ProcessCall } from "../call/start-process.js";
import type { ToolResult } from "../call/tool-call.js";
import { checkProgram, commandOf } from "./check-arguments.js";
import type { HandleCaller, OpenHost } from "./handle-host.js";
import { findCall, type LiveCallInfo } from "./live-call.js";
import type { LiveProcess } from "./live-process.js";
import { EXEC_OPTIONS, type SandboxExecOptions, type SandboxRunOptions } from "./run-options.js";
import { startLiveProcess } from "./start-live-process.js";
import { untilAborted } from "./until-aborted.js";

/** A process has neither a cell nor files to bring back. */
type Started<Options> = Omit<Options, "isolate" | "outputFiles" | "onOutputFile">;
const { outputFiles: _, onOutputFile: __, ...EXEC } = EXEC_OPTIONS;
const RUN = { ...EXEC, language: true, filename: true, args: true } as const;
type NewProgram = Started<SandboxRunOptions> & { readonly language: string };

/** What goes on in a session beside other calls, each one tool call. */
export class HandleProcesses implements SandboxSessionProcesses {
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async exec(
    command: string | readonly string[],
    options: Omit<SandboxExecOptions, "outputFiles" | "onOutputFile"> = {},
  ): Promise<HandleProcess> {
    return this.#start({
      ...checkOptions<Started<SandboxExecOptions>>(options, EXEC),
      ...commandOf(command),
    });
  }

  async runCode(
    code: string,
    options: Omit<SandboxRunOptions, "isolate" | "outputFiles" | "onOutputFile"> & {
      readonly language: string;
    },
  ): Promise<HandleProcess> {
    const known: OptionNames<NewProgram> = RUN;
    const checked = checkOptions<NewProgram>(options ?? {}, known);
    checkProgram(code, checked.language);
    return this.#start({ ...checked, code });
  }

  async list(): Promise<readonly (LiveCallInfo & { readonly command: string })[]> {
    const { processes } = await this.#host.liveCalls(this.#caller.sessionId);
    return [...processes.values()].map((each) => each.info());
  }

  get(id: string): HandleProcess {
    return new HandleProcess(this.#host, this.#caller, id);
  }

  async #start(call: ProcessCall): Promise<HandleProcess> {
    const process = await startLiveProcess(this.#host, { ...call, ...this.#caller, signal: call.signal });
    return this.get(process.id);
  }
}

/** One process of a session. */
export class HandleProcess implements SessionProcess {
  readonly id: string;
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller, id: string) {
    this.#host = host;
    this.#caller = caller;
    this.id = id;
  }

  async info(): Promise<LiveCallInfo & { readonly command: string }> {
    return (await this.#find()).info();
  }

  async *follow(): AsyncGenerator<SessionProcessEvent> {
    yield* (await this.#find()).follow(this.#host.ended);
  }

  async wait(): Promise<ToolResult> {
    const { exit } = await this.#find();
    return untilAborted(exit, this.#host.ended);
  }

  async signal(name: Parameters<SessionProcess["signal"]>[0]): Promise<void> {
    (await this.#find()).signal(name);
  }

  async delete(): Promise<void> {
    const found = await this.#find();
    const { processes } = await this.#host.liveCalls(this.#caller.sessionId);
    processes.delete(this.id);
    await found.close();
    found.forget();
  }

  async #find(): Promise<LiveProcess> {
    return findCall((await this.#host.liveCalls(this.#caller.sessionId)).processes, this.id, "process");
  }
}

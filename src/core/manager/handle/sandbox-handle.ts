import type { Duplex } from "node:stream";
import type { SandboxSession, SandboxSessionPorts, SessionFetchOptions } from "@skerry/client";
import { checkOptions, type OptionNames } from "../../../kit/check-options.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Execution, ResultEvent } from "../../../runtime/sandbox/index.js";
import type { ToolResult } from "../call/tool-call.js";
import { checkPortPath, checkProgram, checkRequest, commandOf, invalid } from "./check-arguments.js";
import { HandleContexts } from "./handle-contexts.js";
import { HandleFiles } from "./handle-files.js";
import type { HandleCaller, HandleHost, OpenHost } from "./handle-host.js";
import { HandleProcesses } from "./handle-processes.js";
import { HandleProjects } from "./handle-projects.js";
import { HandleSnapshots } from "./handle-snapshots.js";
import { HandleTerminals } from "./handle-terminals.js";
import { EXEC_OPTIONS, RUN_OPTIONS, type SandboxExecOptions, type SandboxRunOptions } from "./run-options.js";
import { untilAborted } from "./until-aborted.js";

/** What ends a handle, and opens that of a fork. */
export interface HandleScope {
  /** Aborts when another handle deletes the session. */
  readonly ended: AbortSignal;
  close(): Promise<void>;
  delete(): Promise<void>;
  open(sessionId: string): Promise<SandboxHandle>;
}

/** Of an answer of a port: what is longer keeps the port open until it is read or cancelled. */
const READ_AHEAD_BYTES = 1024 * 1024;
const FETCH_OPTIONS: OptionNames<SessionFetchOptions> = {
  method: true,
  headers: true,
  body: true,
  signal: true,
};

/** One session of a manager: everything it does is decided about and recorded as the manager's options say. */
export class SandboxHandle implements SandboxSession {
  readonly sessionId: string;
  readonly files: HandleFiles;
  readonly contexts: HandleContexts;
  readonly snapshots: HandleSnapshots;
  /** What changed in the directories that were copied in, and how it comes back. */
  readonly projects: HandleProjects;
  readonly processes: HandleProcesses;
  readonly terminals: HandleTerminals;
  readonly ports: SandboxSessionPorts;
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;
  readonly #scope: HandleScope;
  readonly #ending = new AbortController();

  /** Handed out by `Sandbox.create`, `Sandbox.connect` and `SandboxManager.getSandbox`. @internal */
  constructor(manager: HandleHost, caller: HandleCaller, scope: HandleScope) {
    const { ended } = scope;
    if (ended.aborted) this.#ending.abort(ended.reason);
    else ended.addEventListener("abort", () => this.#ending.abort(ended.reason), { once: true });
    const host = untilEnded(manager, this.#ending.signal);
    this.sessionId = caller.sessionId;
    this.#host = host;
    this.#caller = caller;
    this.#scope = scope;
    this.files = new HandleFiles(host, caller);
    this.contexts = new HandleContexts(host, caller);
    this.snapshots = new HandleSnapshots(host, caller);
    this.projects = new HandleProjects(host, caller);
    this.processes = new HandleProcesses(host, caller);
    this.terminals = new HandleTerminals(host, caller);
    this.ports = { fetch: this.#fetch.bind(this), connect: this.#connect.bind(this) };
  }

  /** Aborts when it is closed or deleted, by whichever handle. @internal */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /** Runs a program given as text. Await the result, or iterate the events. */
  runCode(
    code: string,
    options: SandboxRunOptions & { readonly language: string },
  ): Execution<ToolResult, ResultEvent> {
    return this.#host.executeForHandle(() => {
      const checked = checkOptions<SandboxRunOptions>(options ?? {}, RUN_OPTIONS);
      checkProgram(code, checked.language);
      return { ...checked, ...this.#caller, code };
    });
  }

  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(
    command: string | readonly string[],
    options: SandboxExecOptions = {},
  ): Execution<ToolResult, ResultEvent> {
    return this.#host.executeForHandle(() => ({
      ...checkOptions<SandboxExecOptions>(options, EXEC_OPTIONS),
      ...this.#caller,
      ...commandOf(command),
    }));
  }

  /** Makes another session with the files of now, or of a snapshot, and starts it. */
  async fork(
    options: { readonly sessionId?: string; readonly snapshotId?: string } = {},
  ): Promise<SandboxHandle> {
    const { sessionId, snapshotId } = checkOptions(options, { sessionId: true, snapshotId: true });
    return this.#scope.open((await this.snapshots.fork(sessionId, snapshotId)).sessionId);
  }

  /** Lets go of it; the last handle to do so stops what runs. Its files stay, and the same session can be opened again. */
  close(): Promise<void> {
    this.#end();
    return this.#scope.close();
  }

  /** Stops what runs in it, and removes its files. */
  delete(): Promise<void> {
    this.#end();
    return this.#scope.delete();
  }

  #end(): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort(
      new SandboxError("SANDBOX_NOT_RUNNING", "This session has been closed", {
        hint: "Open it again by its sessionId; one that was deleted starts empty.",
        retryable: false,
      }),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #fetch(port: number, path: string, options: SessionFetchOptions = {}): Promise<Response> {
    const { method = "GET", headers, body, signal } = checkOptions(options, FETCH_OPTIONS);
    checkPortPath(path);
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw invalid("signal is an AbortSignal", "For example AbortSignal.timeout(5000).");
    checkRequest(method, headers, body);
    const cancelled = (cause: unknown) => new SandboxError("CANCELLED", "The call was cancelled", { cause });
    if (signal?.aborted === true) throw cancelled(signal.reason);
    const opened = await this.#host.openPort(this.sessionId, port);
    const close = () => {
      this.#ending.signal.removeEventListener("abort", close);
      return opened.close();
    };
    this.#ending.signal.addEventListener("abort", close);
    try {
      const address = `http://${opened.host}:${opened.hostPort}${path}`;
      const sent = { method: method.toUpperCase(), headers, body, signal };
      const init = { ...sent, redirect: "manual", duplex: "half" } as RequestInit;
      const failed = (message: string) => (cause: unknown) => {
        if (signal?.aborted === true) throw cancelled(cause);
        throw new SandboxError("PORT_FAILED", message, {
          hint: "Is a program inside listening on this port?",
          cause,
        });
      };
      const response = await fetch(address, init).catch(failed(`Nothing answers on port ${port} inside`));
      const { status, statusText, headers: answered } = response;
      const broken = failed(`The answer of port ${port} inside broke off`);
      const content = response.body && streamUntil(response.body, broken, close);
      if (content === null) await close();
      return new Response(content, { status, statusText, headers: answered });
    } catch (error) {
      await close();
      throw error;
    }
  }

  async #connect(port: number): ReturnType<SandboxSessionPorts["connect"]> {
    const connection: Duplex = await this.#host.connectPort(this.sessionId, port);
    const pieces = connection.iterator({ destroyOnReturn: false });
    return {
      readable: new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await pieces.next();
          if (done !== true) return controller.enqueue(value as Buffer);
          connection.destroy();
          controller.close();
        },
        cancel: () => void connection.destroy(),
      }),
      writable: new WritableStream<Uint8Array>({
        write: (bytes) =>
          new Promise((resolve, reject) => {
            connection.write(bytes, (error) => (error ? reject(error) : resolve()));
          }),
        close: () => void connection.end(),
        abort: () => void connection.destroy(),
      }),
    };
  }
}

/** A stream as it comes; `close` is called at its end. So much is read ahead that a short one ends also when it is not read. */
function streamUntil(
  source: ReadableStream<Uint8Array>,
  failed: (cause: unknown) => never,
  close: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await reader.read().catch(async (cause: unknown) => {
      await close();
      return failed(cause);
    });
    if (!done) return controller.enqueue(value);
    await close();
    controller.close();
  };
  const cancel = async (reason: unknown) => {
    await reader.cancel(reason);
    await close();
  };
  return new ReadableStream(
    { pull, cancel },
    new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD_BYTES }),
  );
}

/** The manager as a handle sees it: from its end on everything is refused, also what is waited for. */
function untilEnded(manager: HandleHost, ended: AbortSignal): OpenHost {
  const until = <Value>(work: () => Promise<Value>) =>
    ended.aborted ? Promise.reject(ended.reason) : untilAborted(work(), ended);
  return {
    ended,
    executeForHandle: (order) => manager.executeForHandle(order, ended),
    useFiles: (call) => until(() => manager.useFiles(call)),
    useSandbox: (call) => until(() => manager.useSandbox(call)),
    startProcess: (call) => until(() => manager.startProcess(call)),
    openTerminal: (call) => until(() => manager.openTerminal(call)),
    openPort: (session, port) => until(() => manager.openPort(session, port)),
    connectPort: (session, port) => until(() => manager.connectPort(session, port)),
    liveCalls: (session) => until(() => manager.liveCalls(session)),
  };
}

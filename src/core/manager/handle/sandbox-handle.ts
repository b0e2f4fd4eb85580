import type { Duplex } from "node:stream";
import type { SandboxSession, SandboxSessionPorts, SessionFetchOptions } from "@skerry/client";
import { SandboxError } from "../../../kit/errors.js";
import { Execution, type ResultEvent } from "../../../runtime/sandbox/index.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";
import { refuseUnknown } from "../unknown-option.js";
import { HandleContexts } from "./handle-contexts.js";
import { HandleFiles } from "./handle-files.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";
import { HandleProcesses } from "./handle-processes.js";
import { HandleSnapshots } from "./handle-snapshots.js";
import { HandleTerminals } from "./handle-terminals.js";

/** How a program or a command runs: a tool call without what the sandbox itself says. */
export type SandboxRunOptions = Omit<
  ToolCall,
  "sessionId" | "language" | "code" | "command" | "argv" | "context" | "agentId" | "orgId" | "role"
>;

/** What ends a handle, and opens that of a fork. */
export interface HandleScope {
  close(): Promise<void>;
  delete(): Promise<void>;
  open(sessionId: string): Promise<SandboxHandle>;
}

/** One session of a manager: everything it does is decided about and recorded as the manager's options say. */
export class SandboxHandle implements SandboxSession {
  readonly sessionId: string;
  readonly files: HandleFiles;
  readonly contexts: HandleContexts;
  readonly snapshots: HandleSnapshots;
  readonly processes: HandleProcesses;
  readonly terminals: HandleTerminals;
  readonly ports: SandboxSessionPorts;
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;
  readonly #scope: HandleScope;
  #isClosed = false;

  /** Handed out by `Sandbox.create`, `Sandbox.connect` and `SandboxManager.getSandbox`. @internal */
  constructor(manager: HandleHost, caller: HandleCaller, scope: HandleScope) {
    const host = untilClosed(manager, () => this.#isClosed);
    this.sessionId = caller.sessionId;
    this.#host = host;
    this.#caller = caller;
    this.#scope = scope;
    this.files = new HandleFiles(host, caller);
    this.contexts = new HandleContexts(host, caller);
    this.snapshots = new HandleSnapshots(host, caller);
    this.processes = new HandleProcesses(host, caller);
    this.terminals = new HandleTerminals(host, caller);
    this.ports = { fetch: this.#fetch.bind(this), connect: this.#connect.bind(this) };
  }

  /** Runs a program given as text. Await the result, or iterate the events. */
  runCode(
    code: string,
    options: SandboxRunOptions & { readonly language: string },
  ): Execution<ToolResult, ResultEvent> {
    return this.#host.executeForHandle({ ...options, ...this.#caller, code });
  }

  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(
    command: string | readonly string[],
    options: SandboxRunOptions = {},
  ): Execution<ToolResult, ResultEvent> {
    const given = typeof command === "string" ? { command } : { argv: command };
    return this.#host.executeForHandle({ ...options, ...this.#caller, ...given });
  }

  /** Makes another session with the files of now, or of a snapshot, and starts it. */
  async fork({
    sessionId,
    snapshotId,
    ...unknown
  }: {
    readonly sessionId?: string;
    readonly snapshotId?: string;
  } = {}): Promise<SandboxHandle> {
    refuseUnknown(unknown);
    return this.#scope.open((await this.snapshots.fork(sessionId, snapshotId)).sessionId);
  }

  /** Stops what runs in it; its files stay, and the same session can be opened again. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#scope.close();
  }

  /** Stops what runs in it, and removes its files. */
  delete(): Promise<void> {
    this.#isClosed = true;
    return this.#scope.delete();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #fetch(
    port: number,
    path: string,
    { method, headers, body, signal, ...unknown }: SessionFetchOptions = {},
  ): Promise<Response> {
    refuseUnknown(unknown);
    const cancelled = (cause: unknown) =>
      new SandboxError("CANCELLED", "The request was cancelled", { cause });
    if (signal?.aborted === true) throw cancelled(signal.reason);
    const opened = await this.#host.openPort(this.sessionId, port);
    try {
      const address = `http://${opened.host}:${opened.hostPort}${path}`;
      const init = { method, headers, body, signal, redirect: "manual", duplex: "half" } as RequestInit;
      const failed = (message: string) => (cause: unknown) => {
        if (signal?.aborted === true) throw cancelled(cause);
        throw new SandboxError("PORT_FAILED", message, { cause });
      };
      const response = await fetch(address, init).catch(failed(`Nothing answers on port ${port} inside`));
      const { status, statusText } = response;
      // Read now: the port closes with this call.
      const bytes = await response.arrayBuffer().catch(failed(`The answer of port ${port} inside broke off`));
      return new Response(bytes.byteLength === 0 ? null : bytes, {
        status,
        statusText,
        headers: response.headers,
      });
    } finally {
      await opened.close();
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

/** The manager as a handle sees it: it refuses everything once the handle is closed. */
function untilClosed(manager: HandleHost, isClosed: () => boolean): HandleHost {
  const refuse = () =>
    new Execution(async () => {
      throw new SandboxError("SANDBOX_NOT_RUNNING", "This session has been closed", {
        hint: "Open it again by its sessionId; one that was deleted starts empty.",
      });
    });
  return new Proxy(manager, {
    get: (target, name: keyof HandleHost) => (isClosed() ? refuse : target[name].bind(target)),
  });
}

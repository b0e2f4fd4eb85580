import { type Duplex, type Readable, Readable as ReadableStream, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createDeferred } from "../../kit/deferred.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { decodeExit, encodeFreeze, encodeRun, encodeWarm } from "./command-codec.js";
import { FrameDecoder, violation } from "./decoder.js";
import { commandTooLong, guestFailure } from "./failure.js";
import {
  encodeFields,
  encodeFrame,
  type Field,
  FromGuest,
  GUEST_CHANNEL_BIT,
  MAX_PAYLOAD_BYTES,
  Tag,
  ToGuest,
  u16,
  u32,
  WIRE_VERSION,
} from "./frames.js";
import type { RunExit, RunHandle, Runner, RunRequest, WarmHandle, WarmRequest } from "./runner.js";
import { GuestDuplex, GuestReadable, GuestWritable, type InputSender, sendUncopied } from "./streams.js";

/** What one channel does with the frames that carry its id. */
interface Channel {
  /** For messages: the command or the path. */
  readonly subject: string;
  readonly sender?: InputSender;
  started?(payload: Buffer): void;
  output?(type: number, part: Buffer): void;
  exit?(payload: Buffer): void;
  end?(): void;
  pong?(): void;
  warmState?(state: number, text: string): void;
  /** Ends the channel for good. */
  failed(error: SandboxError): void;
}

export interface GuestStreams {
  readonly fromGuest: Readable;
  readonly toGuest: Writable;
}

/** The host's end of the wire. Everything it reads was written by the hostile side. */
export class GuestConnection implements Runner {
  readonly closed: Promise<Error | undefined>;
  /** Resolves when the guest has said hello in our version of the protocol. */
  readonly ready: Promise<void>;
  readonly #streams: GuestStreams;
  readonly #channels = new Map<number, Channel>();
  readonly #listeners = new Map<number, (stream: Duplex) => void>();
  readonly #hello = createDeferred<void>();
  readonly #end = createDeferred<Error | undefined>();
  #nextId = 1;
  #greeted = false;
  #lost: SandboxError | undefined;

  constructor(streams: GuestStreams) {
    this.#streams = streams;
    this.closed = this.#end.promise;
    this.ready = this.#hello.promise;
    const decoder = new FrameDecoder({
      data: (type, id, part) => this.#data(type, id, part),
      control: (type, id, payload) => this.#control(type, id, payload),
    });
    streams.fromGuest.on("data", (chunk: Buffer) => {
      if (this.#lost !== undefined) return;
      try {
        decoder.push(chunk);
      } catch (error) {
        this.close(toSandboxError(error));
      }
    });
    const gone = (error?: Error) =>
      this.close(new SandboxError("SANDBOX_LOST", "The sandbox ended unexpectedly", { cause: error }));
    streams.fromGuest.on("error", gone).on("end", gone).on("close", gone);
    streams.toGuest.on("error", gone);
  }

  run(request: RunRequest): RunHandle {
    const id = this.#allocate();
    const started = createDeferred<{ pid: number; warm: boolean }>();
    const exit = createDeferred<RunExit>();
    let hasStarted = false;
    const stdin = new GuestWritable((piece) => this.#send(ToGuest.data, id, piece));
    const stdout = new GuestReadable((bytes) => this.#grant(id, 0, bytes));
    const stderr = new GuestReadable((bytes) => this.#grant(id, 1, bytes));
    const drained: (() => void)[] = [];
    const control = request.control === true ? this.#openControl(id) : undefined;
    const finish = () => {
      this.#channels.delete(id);
      stdin.abandon();
      stdout.inlet.finish();
      stderr.inlet.finish();
      for (const resolve of drained.splice(0)) resolve();
    };
    this.#open(id, encodeRun(request, control?.id), ToGuest.exec, {
      subject: request.argv[0] ?? "",
      sender: stdin.sender,
      started: (payload) => {
        hasStarted = true;
        started.resolve({ pid: payload.readUInt32LE(0), warm: payload[4] === 1 });
      },
      output: (type, part) => (type === FromGuest.stdout ? stdout : stderr).inlet.receive(part),
      pong: () => {
        for (const resolve of drained.splice(0)) resolve();
      },
      exit: (payload) => {
        if (!hasStarted) throw violation("an exit before the start");
        finish();
        exit.resolve(decodeExit(payload));
      },
      failed: (error) => {
        finish();
        control?.stream.destroy();
        started.reject(error);
        exit.reject(error);
      },
    });
    return {
      started: started.promise,
      exit: exit.promise,
      stdin,
      stdout,
      stderr,
      signal: (signo) => this.#sendIfOpen(ToGuest.signal, id, Uint8Array.of(signo)),
      kill: () => this.#sendIfOpen(ToGuest.kill, id),
      resize: (rows, columns) => this.#sendIfOpen(ToGuest.resize, id, u16(rows, columns)),
      ...(control !== undefined && { control: control.stream }),
      drain: async () => {
        if (!this.#channels.has(id)) return;
        await new Promise<void>((resolve) => {
          drained.push(resolve);
          this.#send(ToGuest.drain, id);
        });
      },
      freeze: (order) => {
        if (control === undefined)
          throw new SandboxError("INTERNAL", "A command without a control socket takes no orders");
        return this.#warm(encodeFreeze(control.id, order), request.argv[0] ?? "");
      },
    };
  }

  /** The host's end of a command's control socket, which is opened together with the command. */
  #openControl(command: number): { readonly id: number; readonly stream: GuestDuplex } {
    const id = this.#allocate(command);
    const stream = this.#socket(id);
    this.#channels.set(id, this.#socketChannel(id, stream, "control"));
    return { id, stream };
  }

  warm(request: WarmRequest): WarmHandle {
    return this.#warm(encodeWarm(request), request.argv[0] ?? "");
  }

  #warm(payload: Uint8Array, subject: string): WarmHandle {
    const id = this.#allocate();
    const ready = createDeferred<void>();
    const gone = createDeferred<string>();
    const finish = (why: string) => {
      this.#channels.delete(id);
      ready.reject(new SandboxError("EXECUTION_FAILED", `The warm interpreter ended: ${why}`));
      gone.resolve(why);
    };
    this.#open(id, payload, ToGuest.warm, {
      subject,
      warmState: (state, text) => {
        if (state === 1) ready.resolve();
        else if (state === 2) finish(text);
      },
      failed: (error) => finish(error.message),
    });
    return { id, ready: ready.promise, gone: gone.promise, stop: () => this.#sendIfOpen(ToGuest.close, id) };
  }

  readFile(path: string): Readable {
    const id = this.#allocate();
    const content = new GuestReadable((bytes) => this.#grant(id, 0, bytes));
    content.once("close", () => this.#sendIfOpen(ToGuest.close, id));
    this.#open(id, encodeFields([[Tag.path, path]]), ToGuest.read, {
      subject: path,
      output: (_type, part) => content.inlet.receive(part),
      end: () => {
        this.#channels.delete(id);
        content.inlet.finish();
      },
      failed: (error) => {
        this.#channels.delete(id);
        content.destroy(error);
      },
    });
    return content;
  }

  async writeFile(path: string, mode: number, content: Readable | Uint8Array): Promise<void> {
    const id = this.#allocate();
    const done = createDeferred<void>();
    const writable = new GuestWritable((piece) => this.#send(ToGuest.data, id, piece));
    const fields: Field[] = [
      [Tag.path, path],
      [Tag.mode, u32(mode)],
    ];
    this.#open(id, encodeFields(fields), ToGuest.write, {
      subject: path,
      sender: writable.sender,
      end: () => {
        this.#channels.delete(id);
        done.resolve();
      },
      failed: (error) => {
        this.#channels.delete(id);
        done.reject(error);
        writable.destroy(error);
      },
    });
    try {
      await pipeline(content instanceof Uint8Array ? ReadableStream.from([content]) : content, writable);
    } catch (error) {
      this.#sendIfOpen(ToGuest.close, id);
      this.#channels.delete(id);
      throw toSandboxError(error, "FILE_FAILED");
    }
    await done.promise;
  }

  async connect(port: number): Promise<Duplex> {
    const id = this.#allocate();
    const started = createDeferred<Duplex>();
    const stream = this.#socket(id);
    this.#open(id, u16(port), ToGuest.connect, {
      ...this.#socketChannel(id, stream, `port ${port}`),
      started: () => started.resolve(stream),
      failed: (error) => {
        this.#channels.delete(id);
        started.reject(error);
        stream.destroy();
      },
    });
    return started.promise;
  }

  async listen(port: number, onConnection: (stream: Duplex) => void): Promise<void> {
    const id = this.#allocate();
    const started = createDeferred<void>();
    this.#listeners.set(id, onConnection);
    this.#open(id, u16(port), ToGuest.listen, {
      subject: `port ${port}`,
      started: () => started.resolve(),
      failed: (error) => {
        this.#channels.delete(id);
        this.#listeners.delete(id);
        started.reject(error);
      },
    });
    return started.promise;
  }

  async ping(): Promise<void> {
    const id = this.#allocate();
    const answered = createDeferred<void>();
    this.#open(id, undefined, ToGuest.ping, {
      subject: "ping",
      pong: () => {
        this.#channels.delete(id);
        answered.resolve();
      },
      failed: (error) => answered.reject(error),
    });
    return answered.promise;
  }

  close(reason?: Error): void {
    if (this.#lost !== undefined) return;
    this.#lost =
      reason === undefined
        ? new SandboxError("SANDBOX_NOT_RUNNING", "The sandbox was stopped")
        : toSandboxError(reason, "SANDBOX_LOST");
    for (const channel of [...this.#channels.values()]) channel.failed(this.#lost);
    this.#channels.clear();
    this.#listeners.clear();
    this.#streams.toGuest.destroy();
    this.#streams.fromGuest.destroy();
    this.#hello.reject(this.#lost);
    this.#end.resolve(reason);
  }

  /** An id that is free, and not one that was allocated and is about to be used. */
  #allocate(taken = 0): number {
    if (this.#lost !== undefined) throw this.#lost;
    do {
      this.#nextId = this.#nextId >= GUEST_CHANNEL_BIT - 1 ? 1 : this.#nextId + 1;
    } while (this.#channels.has(this.#nextId) || this.#nextId === taken);
    return this.#nextId;
  }

  #open(id: number, payload: Uint8Array | undefined, type: number, channel: Channel): void {
    if (payload !== undefined && payload.length > MAX_PAYLOAD_BYTES) {
      channel.failed(commandTooLong(channel.subject));
      return;
    }
    this.#channels.set(id, channel);
    this.#send(type, id, payload);
  }

  #send(type: number, id: number, payload?: Uint8Array): void {
    if (this.#lost !== undefined) return;
    const { toGuest } = this.#streams;
    // What is sent in one turn goes together: a command and the end of its input are one call of the kernel's.
    if (toGuest.writableCorked === 0) {
      toGuest.cork();
      process.nextTick(() => toGuest.uncork());
    }
    toGuest.write(encodeFrame(type, id, payload));
  }

  #sendIfOpen(type: number, id: number, payload?: Uint8Array): void {
    if (this.#channels.has(id)) this.#send(type, id, payload);
  }

  #grant(id: number, which: number, bytes: number): void {
    if (!this.#channels.has(id)) return;
    const payload = Buffer.allocUnsafe(5);
    payload[0] = which;
    payload.writeUInt32LE(bytes, 1);
    this.#send(ToGuest.credit, id, payload);
  }

  #socket(id: number): GuestDuplex {
    return new GuestDuplex(
      (piece, taken) => {
        if (this.#channels.has(id)) sendUncopied(this.#streams.toGuest, id, piece, taken);
        else taken();
      },
      (bytes) => this.#grant(id, 0, bytes),
      () => {
        this.#sendIfOpen(ToGuest.close, id);
        this.#channels.delete(id);
      },
    );
  }

  #socketChannel(id: number, stream: GuestDuplex, subject: string): Channel {
    return {
      subject,
      sender: stream.sender,
      output: (_type, part) => stream.inlet.receive(part),
      end: () => stream.inlet.finish(),
      failed: (error) => {
        this.#channels.delete(id);
        stream.destroy(error);
      },
    };
  }

  #data(type: number, id: number, part: Buffer): void {
    const channel = this.#channels.get(id);
    // A channel we closed may have had output on its way.
    if (channel === undefined) return this.#ignoreLate(id);
    if (channel.output === undefined) throw violation("output on a channel that has none");
    channel.output(type, part);
  }

  /** Frames for a channel that has just ended are harmless; for one that never was, they are not. */
  #ignoreLate(id: number): void {
    if (id === 0 || (id < GUEST_CHANNEL_BIT && id > this.#nextId)) throw violation(`unknown channel ${id}`);
  }

  #control(type: number, id: number, payload: Buffer): void {
    if (type === FromGuest.hello) return this.#greet(payload);
    if (!this.#greeted) throw violation("no greeting");
    if (type === FromGuest.accepted) return this.#accept(id, payload);
    const channel = this.#channels.get(id);
    if (channel === undefined) return this.#ignoreLate(id);
    switch (type) {
      case FromGuest.started:
        expectLength(payload, 5);
        return channel.started?.(payload);
      case FromGuest.exit:
        expectLength(payload, 24);
        if (channel.exit === undefined) throw violation("an exit of something that is no command");
        return channel.exit(payload);
      case FromGuest.room:
        expectLength(payload, 4);
        return channel.sender?.roomGranted(payload.readUInt32LE(0));
      case FromGuest.failed: {
        if (payload.length < 4) throw violation("a cut failure");
        const what = payload.toString("utf8", 4);
        return channel.failed(guestFailure(payload.readInt32LE(0), what, channel.subject));
      }
      case FromGuest.end:
        return channel.end?.();
      case FromGuest.pong:
        return channel.pong?.();
      case FromGuest.warmState:
        if (payload.length < 1 || channel.warmState === undefined) throw violation("a stray warm state");
        return channel.warmState(payload[0]!, payload.toString("utf8", 1));
    }
  }

  #greet(payload: Buffer): void {
    expectLength(payload, 12);
    if (this.#greeted) throw violation("a second greeting");
    if (payload.toString("latin1", 0, 4) !== "SKRY") throw violation("a strange greeting");
    const version = payload.readUInt32LE(4);
    if (version !== WIRE_VERSION) throw violation(`version ${version} instead of ${WIRE_VERSION}`);
    this.#greeted = true;
    this.#hello.resolve();
  }

  #accept(id: number, payload: Buffer): void {
    expectLength(payload, 4);
    const onConnection = this.#listeners.get(payload.readUInt32LE(0));
    if (onConnection === undefined || id < GUEST_CHANNEL_BIT || this.#channels.has(id)) {
      throw violation("a connection without a listener");
    }
    if (this.#channels.size >= 2048) throw violation("too many connections");
    const stream = this.#socket(id);
    this.#channels.set(id, this.#socketChannel(id, stream, "connection"));
    onConnection(stream);
  }
}

function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length) throw violation(`a payload of ${payload.length} bytes instead of ${length}`);
}

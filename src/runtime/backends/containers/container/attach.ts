import { type Duplex, Readable } from "node:stream";
import type Docker from "dockerode";
import { SandboxError } from "../../../../kit/errors.js";
import type { GuestStreams } from "../../../wire/index.js";

const HEADER_BYTES = 8;
/** Standard output is the wire; the rest are complaints of the guest, or of the daemon about it. */
const STDOUT = 1;
const COMPLAINTS: readonly number[] = [0, 2, 3];
const MAX_COMPLAINT_BYTES = 4096;

/** The wire through a daemon: what we write is the guest's input, its output comes back in the daemon's frames. */
export interface AttachedStreams extends GuestStreams {
  /** The last that the guest said on standard error. */
  complaints(): string;
  /** Resolves when the daemon has nothing more to tell: the container has ended, or the daemon has. */
  readonly ended: Promise<void>;
}

/** Asks for a connection to a container's input and output. */
export function attach({ id, modem }: Docker.Container): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const request = {
      path: `/containers/${id}/attach?`,
      method: "POST",
      options: { stream: true, stdin: true, stdout: true, stderr: true },
      // dockerode's own call has a body, which Podman takes for the container's input.
      file: Buffer.alloc(0),
      hijack: true,
      isStream: true,
      statusCodes: { 200: true, 404: "no such container", 500: "server error" },
    };
    modem.dial(request, (error: unknown, connection: Duplex) =>
      error ? reject(error) : resolve(connection),
    );
  });
}

/** Takes a container's hijacked connection over. */
export function openStreams(connection: Duplex): AttachedStreams {
  const output = new DaemonFrames(connection);
  return {
    fromGuest: output,
    toGuest: connection,
    complaints: () => output.complaints.toString("utf8").trim(),
    ended: new Promise((resolve) => connection.once("close", () => resolve())),
  };
}

/**
 * Standard output out of the daemon's frames, piece by piece as they come: nothing is copied, and no more is kept than
 * one read of the connection, which rests while the reader takes nothing.
 */
class DaemonFrames extends Readable {
  complaints = Buffer.alloc(0);
  readonly #connection: Duplex;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #stream = 0;
  #left = 0;

  constructor(connection: Duplex) {
    super({ highWaterMark: 256 * 1024 });
    this.#connection = connection;
    connection.on("data", (chunk: Buffer) => this.#take(chunk));
    connection.once("end", () => this.push(null));
    connection.on("error", (error) => this.destroy(error));
    connection.once("close", () => this.destroy());
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connection.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    let at = 0;
    let hasRoom = true;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const taken = Math.min(HEADER_BYTES - this.#headerBytes, chunk.length - at);
        chunk.copy(this.#header, this.#headerBytes, at, at + taken);
        this.#headerBytes += taken;
        at += taken;
        if (this.#headerBytes < HEADER_BYTES) break;
        this.#headerBytes = 0;
        this.#stream = this.#header[0]!;
        this.#left = this.#header.readUInt32BE(4);
        if (this.#stream !== STDOUT && !COMPLAINTS.includes(this.#stream)) {
          this.destroy(
            new SandboxError("WIRE_VIOLATION", "The Docker daemon sent a frame of an unknown kind"),
          );
          return;
        }
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      if (this.#stream === STDOUT) hasRoom = this.push(part);
      else this.complaints = Buffer.concat([this.complaints, part]).subarray(-MAX_COMPLAINT_BYTES);
    }
    if (!hasRoom) this.#connection.pause();
  }
}

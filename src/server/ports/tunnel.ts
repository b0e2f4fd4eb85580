import type { Duplex } from "node:stream";
import { SandboxError } from "../../kit/errors.js";
import type { ManagedSocket } from "../http/managed-socket.js";

/** What one side has sent and the other not yet taken. */
const MOST_BUFFERED_BYTES = 256 * 1024;
/** How long the last bytes of a caller who has left may take to get inside. */
const LAST_BYTES_MS = 5000;

/** Carries the bytes of a connection in binary messages, both ways, as fast as the slower side takes them. */
export function carryTunnel(socket: ManagedSocket, connection: Duplex): void {
  socket.onMessage((data, isBinary) => {
    if (!isBinary) {
      throw new SandboxError("INVALID_ARGUMENT", "A tunnel takes binary messages, not text", {
        hint: "Send binary messages.",
      });
    }
    // Called also when the bytes were dropped.
    return new Promise((taken) => connection.write(data, () => taken()));
  });
  connection.on("data", (bytes: Buffer) => {
    socket.send(bytes, () => {
      if (socket.bufferedBytes < MOST_BUFFERED_BYTES) connection.resume();
    });
    if (socket.bufferedBytes >= MOST_BUFFERED_BYTES) connection.pause();
  });
  connection.once("end", () => socket.close(1000, "the other side has ended"));
  connection.once("close", () => socket.close(1000, "the connection has ended"));
  socket.onClose(async () => {
    await socket.messages;
    setTimeout(() => connection.destroy(), LAST_BYTES_MS).unref();
    connection.end(() => connection.destroy());
  });
}

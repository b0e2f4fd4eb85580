import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { SandboxError } from "../../kit/errors.js";
import { toErrorBody } from "./error-reply.js";

/** Answers what is not HTTP in the one shape of errors, and closes the connection. */
export function replyToMalformedRequest(error: Error & { code?: string }, socket: Socket): void {
  // ECONNRESET: the client is gone.
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, told] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? (["431 Request Header Fields Too Large", "The headers are larger than this server takes"] as const)
      : (["400 Bad Request", "This is not a valid HTTP request"] as const);
  const requestId = randomUUID();
  const body = JSON.stringify(toErrorBody(new SandboxError("INVALID_ARGUMENT", told), requestId));
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

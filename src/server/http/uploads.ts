import { PassThrough, type Readable } from "node:stream";
import { SandboxError } from "../../kit/errors.js";
import type { App } from "./app.js";

/** Makes the routes of this scope take bodies of that type as streams of any length. */
export function acceptStreams(app: App, type: string): void {
  app.addContentTypeParser(type, (_, payload, done) => done(null, payload));
}

/**
 * The body of an upload. Destroying it keeps the connection open for the reply; what else
 * is sent is read and dropped.
 */
export function bodyStream(body: unknown, type: string): Readable {
  if (!isReadable(body)) {
    throw new SandboxError("MEDIA_TYPE_UNSUPPORTED", "Expected bytes", {
      hint: `Send them with content-type: ${type}.`,
    });
  }
  const stream = new PassThrough();
  // The client may disconnect before the stream is read: reading it then throws.
  stream.on("error", () => undefined);
  body.once("error", (error) => stream.destroy(error));
  body.once("close", () => {
    if (!body.readableEnded) stream.destroy(new Error("The client disconnected before the end"));
  });
  stream.once("close", () => {
    body.unpipe(stream);
    body.resume();
  });
  return body.pipe(stream);
}

function isReadable(body: unknown): body is Readable {
  return typeof body === "object" && body !== null && "pipe" in body;
}

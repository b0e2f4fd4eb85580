import type { ServerResponse } from "node:http";

export interface AnswerOptions {
  readonly denied?: boolean;
}

/** Answers a request with one line, in the reason and in the body: tools show one or the other. */
export function answer(
  response: ServerResponse,
  status: number,
  why: string,
  options: AnswerOptions = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const body = Buffer.from(`${why}\n`);
  response.sendDate = false;
  // An unread body must not be taken for the next request.
  response.shouldKeepAlive = response.shouldKeepAlive && response.req.complete;
  response.writeHead(status, reasonPhrase(why), [
    "content-type",
    "text/plain; charset=utf-8",
    "content-length",
    String(body.length),
    "x-skerry-egress",
    options.denied === true ? "denied" : "failed",
    ...(response.shouldKeepAlive ? [] : ["connection", "close"]),
  ]);
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/** The same for a client that is no longer, or not yet, one of the HTTP server. */
export function rawAnswer(status: number, why: string, options: AnswerOptions = {}): Buffer {
  const body = Buffer.from(`${why}\n`);
  const head = [
    `HTTP/1.1 ${status} ${reasonPhrase(why)}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${body.length}`,
    `x-skerry-egress: ${options.denied === true ? "denied" : "failed"}`,
    "connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

function reasonPhrase(why: string): string {
  return why.replace(/[^\x20-\x7e]/g, "?").slice(0, 400);
}

import { once } from "node:events";
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { FORWARDED_BY, ownerUnreachable } from "../cluster/index.js";

/** Where a request is forwarded to. */
export interface Destination {
  readonly url: string;
  /** The id of this server. */
  readonly from: string;
  readonly ca: Buffer | undefined;
  /** The first bytes after an upgrade request. */
  readonly head: Buffer | undefined;
}

const CONNECT_MS = 5000;
/** How long a client may send a body that is no longer wanted. */
const LINGER_MS = 10_000;
/** Hop-by-hop headers are not forwarded. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** This server has checked the origin and sent `100 Continue` already, and it frames the body again. */
const NOT_SENT_ON = ["host", "origin", "expect", "content-length", FORWARDED_BY];

type Answer =
  | { readonly response: IncomingMessage }
  | { readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

/**
 * Streams a request to its owner and the reply back, without buffering either. Rejects when there is no reply;
 * a reply that breaks off breaks off for the client as well. The signal ends both sides.
 */
export async function forwardRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  to: Destination,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const upstream = open(request, to);
  // Errors after the reply do not matter.
  upstream.on("error", () => undefined);
  const cut = () => upstream.destroy(signal.reason);
  signal.addEventListener("abort", cut, { once: true });
  try {
    sendBody(request.raw, upstream);
    const answer = await answerOf(upstream, signal);
    if ("socket" in answer) await join(request, reply, answer, to.head, signal);
    else await passBack(answer.response, reply);
  } finally {
    signal.removeEventListener("abort", cut);
    upstream.destroy();
  }
}

/** On a new connection: a kept-alive one may be closing at this moment, and most requests cannot be sent twice. */
function open({ raw, id }: FastifyRequest, { url, from, ca }: Destination): ClientRequest {
  const { protocol, hostname, port, host } = new URL(url);
  const upgrade = raw.headers.upgrade;
  const headers = {
    ...endToEnd(raw.headers, NOT_SENT_ON),
    host,
    "x-request-id": id,
    [FORWARDED_BY]: from,
    ...framingOf(raw.headers),
    // An owner that is told to close does so in the middle of a body that it refuses, and its reply is lost with the connection.
    ...(upgrade === undefined ? { connection: "keep-alive" } : { connection: "upgrade", upgrade }),
  };
  const options = {
    // A URL has brackets around an address of IPv6, and a socket has not.
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    method: raw.method,
    path: raw.url,
    headers: headers as OutgoingHttpHeaders,
    agent: false as const,
  };
  const isSecure = protocol === "https:";
  const upstream = isSecure
    ? httpsRequest({ ...options, ...(ca !== undefined && { ca }) })
    : httpRequest(options);
  const timer = setTimeout(() => upstream.destroy(new Error("no connection in time")), CONNECT_MS);
  upstream.once("close", () => clearTimeout(timer));
  upstream.once("socket", (socket) =>
    socket.once(isSecure ? "secureConnect" : "connect", () => clearTimeout(timer)),
  );
  return upstream;
}

/** Always set: for some methods Node expects no body, and would send one without framing. */
function framingOf({
  "content-length": length,
  "transfer-encoding": encoding,
}: IncomingHttpHeaders): OutgoingHttpHeaders {
  if (encoding !== undefined) return { "transfer-encoding": "chunked" };
  return length === undefined ? {} : { "content-length": length };
}

function endToEnd(headers: IncomingHttpHeaders, others: readonly string[] = []): IncomingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...named, ...others]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}

function sendBody(raw: IncomingMessage, upstream: ClientRequest): void {
  const { "content-length": length, "transfer-encoding": encoding } = raw.headers;
  if (encoding === undefined && (length === undefined || Number(length) === 0)) {
    upstream.end();
    return;
  }
  raw.pipe(upstream);
  // The rest of the body is read and dropped: closing at once could lose the reply.
  upstream.once("close", () => {
    raw.unpipe(upstream);
    if (raw.complete || raw.destroyed) return;
    raw.resume();
    const timer = setTimeout(() => raw.socket.destroy(), LINGER_MS);
    raw.once("close", () => clearTimeout(timer)).once("end", () => clearTimeout(timer));
  });
}

function answerOf(upstream: ClientRequest, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown) => reject(signal.aborted ? signal.reason : ownerUnreachable(cause));
    upstream.once("response", (response) => resolve({ response }));
    upstream.once("upgrade", (response, socket, head) => resolve({ response, socket, head }));
    upstream.once("error", fail);
    upstream.once("close", () => fail());
  });
}

async function passBack(response: IncomingMessage, reply: FastifyReply): Promise<void> {
  reply.hijack();
  reply.raw.writeHead(response.statusCode ?? 502, {
    ...reply.getHeaders(),
    ...endToEnd(response.headers),
  } as OutgoingHttpHeaders);
  // The first event may take long.
  reply.raw.flushHeaders();
  // A cut on one side cuts the other: half a reply must not look complete.
  await pipeline(response, reply.raw).catch(() => undefined);
}

/** Connects two sockets, until either ends. */
async function join(
  request: FastifyRequest,
  reply: FastifyReply,
  { response, socket: theirs, head }: Extract<Answer, { socket: Duplex }>,
  early: Buffer | undefined,
  signal: AbortSignal,
): Promise<void> {
  reply.hijack();
  const { socket: ours } = request.raw;
  const both: readonly [Duplex, Duplex][] = [
    [ours, theirs],
    [theirs, ours],
  ];
  const cut = () => {
    ours.destroy();
    theirs.destroy();
  };
  for (const [one] of both) one.on("error", cut).once("close", cut);
  signal.addEventListener("abort", cut, { once: true });
  if (signal.aborted || ours.destroyed) cut();
  else {
    ours.write(headOf(response));
    ours.write(head);
    if (early !== undefined) theirs.write(early);
    for (const [one, other] of both) one.pipe(other);
  }
  if (!theirs.closed) await once(theirs, "close");
}

function headOf({ rawHeaders }: IncomingMessage): string {
  const lines = ["HTTP/1.1 101 Switching Protocols"];
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { connect, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { allowing, EgressHosts, onPorts, readAll, until } from "../../../../test/setup/egress-hosts.js";
import { type CertificateAuthority, openAuthority } from "../certificates/authority.js";
import { Secret } from "./secret.js";
import { SecretSet } from "./secret-set.js";

const VALUE = "ghp_S3cr3tValue0123456789abcdefXYZ";
const LETTERS = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"];
const hosts = new EgressHosts();
let stateDir: string;
let authority: CertificateAuthority;
let secrets: SecretSet;
let api = 0;
let plain = 0;
let foreign = 0;
let stored: Buffer = Buffer.alloc(0);
/** What hosts were sent, by the certificate that they have. */
const heard: string[] = [];

/** A host that keeps a text and gives it back, and answers as it is told to. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  heard.push(String(request.headers.authorization));
  const url = new URL(request.url ?? "/", "http://host");
  if (request.method === "PUT") {
    stored = await buffer(request);
    response.end();
  } else if (url.pathname === "/encoded") {
    response.writeHead(200, { "content-encoding": url.searchParams.get("by") ?? "" }).end("hello");
  } else if (url.pathname === "/transfer") {
    const bytes = gzipSync(`you sent ${VALUE}`);
    const head = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${url.searchParams.get("by")}\r\n\r\n`;
    response.socket!.write(`${head}${bytes.length.toString(16)}\r\n`);
    response.socket!.write(bytes);
    response.socket!.write("\r\n0\r\n\r\n");
  } else if (url.pathname === "/stream") {
    response.writeHead(200);
    response.write(stored);
  } else {
    response.writeHead(200, { "content-length": stored.length }).end(stored);
  }
}

beforeAll(async () => {
  stateDir = temporaryDirectory();
  authority = await openAuthority(stateDir);
  const listener = (request: IncomingMessage, response: ServerResponse) => void serve(request, response);
  api = await hosts.https(listener, "api.example");
  foreign = await hosts.https(listener, "api.example", { foreign: true });
  plain = await hosts.http(listener);
});

afterAll(() => hosts.close());

beforeEach(async () => {
  heard.length = 0;
  secrets = new SecretSet([new Secret({ name: "TOKEN", value: VALUE, hosts: ["api.example"] })], authority);
  const rules = allowing(["api.example", "plain.example"], onPorts(api, plain, foreign));
  await hosts.open({ rules, secrets, upstreamCa: hosts.ca });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** TLS to the host, as a program inside has it. */
async function dial(port = api): Promise<TLSSocket> {
  const socket = await hosts.dial();
  socket.write(`CONNECT api.example:${port} HTTP/1.1\r\nHost: api.example:${port}\r\n\r\n`);
  await once(socket, "data");
  const stream = connect({ socket, servername: "api.example", ca: authority.certificate });
  stream.on("error", () => undefined);
  await once(stream, "secureConnect");
  return stream;
}

async function ask(path: string, enough?: RegExp, port = api): Promise<string> {
  const stream = await dial(port);
  const authorization = `Authorization: Bearer ${secrets.placeholders()["TOKEN"]}\r\n`;
  stream.write(
    `GET ${path} HTTP/1.1\r\nHost: api.example:${port}\r\nConnection: close\r\n${authorization}\r\n`,
  );
  return readAll(stream, enough).finally(() => stream.destroy());
}

describe("a program that guesses a secret", () => {
  /** Where the chunks of an answer end that is this text. */
  async function borders(text: Buffer): Promise<number[]> {
    stored = text;
    const answer = await ask("/", /\r\n0\r\n\r\n$/);
    const ends: number[] = [];
    let at = answer.indexOf("\r\n\r\n") + 4;
    for (let end = 0; ; ) {
      const line = answer.indexOf("\r\n", at);
      const length = Number.parseInt(answer.slice(at, line), 16);
      if (!(length > 0)) return ends;
      at = line + 2 + length + 2;
      end += length;
      ends.push(end);
    }
  }

  it("learns nothing from where the chunks of an answer end", async () => {
    const size = 1_000_000;
    const known = "ghp_";
    const neutral = (await borders(Buffer.alloc(size, "!"))).slice(0, -1);
    expect(neutral.length).toBeGreaterThan(10);
    const hits: string[] = [];
    for (let from = 0; from < LETTERS.length; from += neutral.length) {
      const tried = LETTERS.slice(from, from + neutral.length);
      const text = Buffer.alloc(size, "!");
      for (const [index, letter] of tried.entries()) {
        text.write(known + letter, neutral[index]! - known.length - 1);
      }
      const seen = new Set(await borders(text));
      const isHeldBack = (index: number) =>
        !seen.has(neutral[index]!) && seen.has(neutral[index]! - known.length - 1);
      hits.push(...tried.filter((_, index) => isHeldBack(index)));
    }
    expect(hits).toEqual([]);
  });

  it("is shut out at the third guess", async () => {
    stored = Buffer.from(`x${VALUE.slice(0, 12)}`);
    for (let count = 0; count < 2; count++) expect(await ask("/stream", /x\r\n$/)).toMatch(/\r\n1\r\nx\r\n$/);
    const last = await ask("/stream");
    expect(last).not.toContain(VALUE.slice(0, 9));
    const why = "the secret TOKEN was guessed at: its hosts are closed to this sandbox";
    expect(await ask("/")).toMatch(new RegExp(`^HTTP/1.1 403 ${why}`));
    await until(() => hosts.events.some((event) => event.why === why), "it is told");
    expect(hosts.events.map((event) => event.why)).toContain("an answer was made to guess the secret TOKEN");
  });
});

describe("an answer", () => {
  it.each(["constructor", "__proto__", "hasOwnProperty"])(
    "that is encoded by %s is refused, and nothing else happens",
    async (name) => {
      const answer = await ask(`/encoded?by=${name}`);
      expect(answer).not.toContain("hello");
      await until(() => hosts.events.length > 0, "it is told");
      expect(hosts.events[0]).toMatchObject({
        verdict: "denied",
        why: "the answer is compressed in a way that cannot be searched for TOKEN",
      });
    },
  );

  it.each(["gzip, chunked", "identity, chunked"])(
    "with the transfer encoding %s is refused, over TLS and without",
    async (coding) => {
      const why = "answered with a transfer encoding besides chunked";
      const path = `/transfer?by=${encodeURIComponent(coding)}`;
      expect(await ask(path)).toMatch(new RegExp(`^HTTP/1.1 502 api.example ${why}`));
      const { stdout } = await hosts.curl("-i", `http://plain.example:${plain}${path}`);
      expect(stdout).toMatch(new RegExp(`^HTTP/1.1 502 plain.example ${why}`));
      expect((await ask("/transfer?by=Chunked", /0\r\n\r\n$/)).slice(0, 15)).toBe("HTTP/1.1 200 OK");
    },
  );
});

describe("a host whose certificate is not good", () => {
  it("hears nothing, though this process is told to verify none", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    expect(await ask("/", undefined, foreign)).toMatch(
      /^HTTP\/1.1 502 api.example: its certificate is not trusted/,
    );
    expect(heard).toEqual([]);
  });
});

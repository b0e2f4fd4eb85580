import { Transform } from "node:stream";
import { createSecureContext } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, readAll, until } from "../../../../test/setup/egress-hosts.js";
import { type EdgeSecrets, SecretLeak } from "../secrets/edge-secrets.js";

const PLACEHOLDER = "skerry-placeholder-1";
const VALUE = "the-real-value";
const hosts = new EgressHosts();
let http = 0;
let https = 0;
let expired = 0;
let foreign = 0;
let echo = 0;
let slow = 0;
/** Answers of the slow host that are on their way. */
let begun = 0;

beforeAll(async () => {
  http = await hosts.http((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () =>
      response.end(`${request.url} ${request.headers["authorization"] ?? "-"} ${body}`),
    );
  });
  const repeat = (
    request: { headers: Record<string, unknown>; url?: string },
    response: { end(text: string): void },
  ) => response.end(`${request.url} ${request.headers["authorization"]}`);
  https = await hosts.https(repeat as never, "api.example");
  expired = await hosts.https(repeat as never, "api.example", { expired: true });
  foreign = await hosts.https(repeat as never, "api.example", { foreign: true });
  echo = await hosts.tcp((socket) => socket.pipe(socket));
  slow = await hosts.http((_, response) => {
    response.write("begun", () => begun++);
    const timer = setInterval(() => response.write("."), 20);
    response.on("close", () => clearInterval(timer));
  });
});

afterAll(() => hosts.close());

function rules(names: readonly string[]) {
  return allowing(names, onPorts(http, https, expired, foreign, echo, slow));
}

beforeEach(() => hosts.open({ rules: rules(["api.example", "b.example"]) }));

/** A tunnel to the host that repeats what it hears, with something sent through it. */
async function openTunnel(name: string) {
  const socket = await hosts.dial();
  const text = { value: "" };
  socket.on("data", (chunk) => {
    text.value += chunk;
  });
  socket.write(`CONNECT ${name}:${echo} HTTP/1.1\r\n\r\nping\n`);
  await until(() => text.value.endsWith("ping\n"), "the tunnel works");
  return { socket, text };
}

describe("rules that change", () => {
  it("close what is no longer allowed, and nothing else", async () => {
    const one = await openTunnel("api.example");
    const other = await openTunnel("b.example");
    const request = hosts.curl(`http://api.example:${slow}/`);
    await until(() => hosts.egress.open.routes === 3, "all are open");
    await until(() => begun > 0, "the answer has begun");
    hosts.egress.update(rules(["b.example"]));
    await until(() => one.socket.destroyed || one.socket.readableEnded, "the first is closed");
    expect((await request).status).not.toBe(0);
    other.socket.write("still\n");
    await until(() => other.text.value.endsWith("still\n"), "the other still works");
    other.socket.destroy();
    await until(() => hosts.events.length === 3, "all are told");
    expect(hosts.events.map(({ host, verdict, why }) => [host, verdict, why]).sort()).toEqual([
      ["api.example", "denied", "closed: api.example is not allowed by rule allowedDomains"],
      ["api.example", "denied", "closed: api.example is not allowed by rule allowedDomains"],
      ["b.example", "allowed", "allowed by rule allow b.example"],
    ]);
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
  });

  it("close a connection to an address that is denied now", async () => {
    const tunnel = await openTunnel("api.example");
    hosts.egress.update({
      ...rules(["api.example"]),
      deniedIps: [{ value: "127.0.0.0/8", rule: "deny loopback" }],
    });
    await until(() => tunnel.socket.destroyed || tunnel.socket.readableEnded, "it is closed");
  });

  it("widen at once", async () => {
    expect((await hosts.curl(`http://c.example:${http}/`)).stdout).toContain("not allowed");
    hosts.egress.update(rules(["c.example"]));
    expect((await hosts.curl(`http://c.example:${http}/`)).stdout).toBe("/ - ");
  });

  it("of several calls all have to allow; the last to leave stays in force until the next", async () => {
    const reach = async (name: string) => (await hosts.curl(`http://${name}:${http}/`)).stdout === "/ - ";
    const leaveOne = hosts.egress.enter(rules(["api.example", "c.example"]));
    expect([await reach("api.example"), await reach("b.example"), await reach("c.example")]).toEqual([
      true,
      false,
      false,
    ]);
    const leaveOther = hosts.egress.enter(rules(["b.example"]));
    expect([await reach("api.example"), await reach("b.example")]).toEqual([false, false]);
    leaveOne();
    expect([await reach("api.example"), await reach("b.example")]).toEqual([false, true]);
    leaveOther();
    leaveOther();
    expect([await reach("api.example"), await reach("b.example")]).toEqual([false, true]);
    hosts.egress.enter(rules(["api.example"]));
    expect([await reach("api.example"), await reach("b.example")]).toEqual([true, false]);
  });

  it("hold for a connection that is being made while they change", async () => {
    hosts.names.set("api.example", () => {
      hosts.egress.update(rules(["b.example"]));
      return ["127.0.0.2"];
    });
    const { stdout } = await hosts.curl(`http://api.example:${http}/`);
    hosts.names.clear();
    expect(stdout).toBe("api.example is not allowed by rule allowedDomains\n");
  });
});

describe("the end", () => {
  it("leaves nothing open, reports everything, and accepts no more connections", async () => {
    const tunnel = await openTunnel("api.example");
    const request = hosts.curl(`http://api.example:${slow}/`);
    const silent = await hosts.dial();
    await until(() => hosts.egress.open.clients === 3 && hosts.egress.open.routes === 2, "all are open");
    hosts.egress.close();
    expect((await request).status).not.toBe(0);
    await until(() => tunnel.socket.readableEnded || tunnel.socket.destroyed, "the tunnel is closed");
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
    expect(hosts.events.map(({ via }) => via).sort()).toEqual(["connect", "http"]);
    expect(await hosts.talk("GET http://api.example/ HTTP/1.1\r\n\r\n")).toBe("");
    expect(hosts.egress.open).toEqual({ clients: 0, routes: 0 });
    silent.destroy();
  });
});

describe("bytes", () => {
  it("are counted exactly", async () => {
    const { socket, text } = await openTunnel("api.example");
    socket.end("x".repeat(100_000));
    await until(() => text.value.length > 100_000 && socket.readableEnded, "all came back");
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({ bytesSent: 100_005, bytesReceived: 100_005 });
    expect(hosts.egress.totals).toEqual({ bytesSent: 100_005, bytesReceived: 100_005 });
  });

  it("end everything when they are used up", async () => {
    await hosts.open({ rules: rules(["api.example"]), limits: { maxBytes: 200_000 } });
    const { socket } = await openTunnel("api.example");
    socket.write(Buffer.alloc(1_000_000));
    await until(() => socket.destroyed || socket.readableEnded, "it is cut");
    const { bytesSent, bytesReceived } = hosts.egress.totals;
    expect(bytesSent + bytesReceived).toBeLessThan(200_000 + 4 * 65_536);
    const why = "the sandbox has used up its 200000 bytes of network traffic";
    const { stdout } = await hosts.curl("-w", "%{http_code}", `http://api.example:${http}/`);
    expect(stdout).toBe(`${why}\n429`);
    expect((await hosts.curl(`https://api.example:${https}/`)).stderr).toContain("response 429");
    expect(hosts.events.map(({ verdict, why: told }) => [verdict, told])).toContainEqual(["failed", why]);
  });
});

describe("WebSockets", () => {
  it("pass after their request was checked", async () => {
    const { createServer } = await import("node:http");
    const server = createServer((_, response) => response.writeHead(426).end("no"));
    server.on("upgrade", (request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Path: ${request.url}\r\n\r\nfirst`,
      );
      socket.pipe(socket);
    });
    const port = await hosts.listen(server);
    await hosts.open({ rules: allowing(["api.example"], onPorts(port, http)) });
    const ask = (host: string, to: number) =>
      `GET http://${host}:${to}/chat HTTP/1.1\r\nHost: ${host}:${to}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore`;
    const answer = await hosts.talk(ask("api.example", port), /firstmore$/);
    expect(answer).toMatch(/^HTTP\/1\.1 101 [\s\S]*X-Path: \/chat\r\n\r\nfirstmore$/);
    expect(await hosts.talk(ask("evil.test", port))).toMatch(/^HTTP\/1\.1 403 evil\.test is not allowed/);
    expect(await hosts.talk(ask("api.example", http))).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});

describe("secrets", () => {
  function secrets(): EdgeSecrets {
    return {
      terminates: (host) => host === "api.example",
      secureContext: async (host) => createSecureContext(hosts.certificate(host)),
      request: ({ host, secure, path, headers }) => {
        const hasIt = headers.some(([, value]) => value.includes(PLACEHOLDER));
        if (hasIt && !(secure && host === "api.example")) {
          return { ok: false, why: `TOKEN is not for ${host}`, secrets: ["TOKEN"] };
        }
        return {
          ok: true,
          path,
          headers: headers.map(([name, value]) => [name, value.replace(PLACEHOLDER, VALUE)] as const),
          used: hasIt ? ["TOKEN"] : [],
          response: {
            text: (text) => text,
            headers: (received) => received.filter(([name]) => name.toLowerCase() !== "content-length"),
            body: () =>
              new Transform({
                transform: (chunk, _encoding, done) =>
                  done(null, String(chunk).replaceAll(VALUE, PLACEHOLDER)),
              }),
          },
        };
      },
      guard: () =>
        new Transform({
          transform: (chunk, _encoding, done) =>
            chunk.includes(PLACEHOLDER)
              ? done(new SecretLeak("TOKEN would leave", ["TOKEN"]))
              : done(null, chunk),
        }),
    };
  }

  beforeEach(() =>
    hosts.open({ rules: rules(["api.example", "b.example"]), secrets: secrets(), upstreamCa: hosts.ca }),
  );
  const header = ["-H", `authorization: Bearer ${PLACEHOLDER}`];

  it("are put in for their host, over TLS that is verified", async () => {
    const { stdout, stderr } = await hosts.curl(
      ...header,
      "--cacert",
      hosts.caPath,
      `https://api.example:${https}/x?q=1`,
      `https://api.example:${https}/y`,
    );
    expect([stdout, stderr]).toEqual([`/x?q=1 Bearer ${PLACEHOLDER}/y Bearer ${PLACEHOLDER}`, ""]);
    await until(() => hosts.events.length === 2, "both are told");
    expect(hosts.events[0]).toMatchObject({
      via: "https",
      method: "GET",
      path: "/x",
      secrets: ["TOKEN"],
      verdict: "allowed",
    });
    expect(hosts.events[0]!.bytesReceived).toBeGreaterThan(500);
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
  });

  it("stay here when the host is another, or its certificate is not good", async () => {
    const url = (port: number) => `https://api.example:${port}/`;
    const trust = ["--cacert", hosts.caPath, "-w", "%{http_code}"];
    expect((await hosts.curl(...header, ...trust, url(expired))).stdout).toBe(
      "api.example: its certificate has expired\n502",
    );
    expect((await hosts.curl(...header, ...trust, url(foreign))).stdout).toMatch(
      /its certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\n502/,
    );
    const plain = await hosts.curl(...header, "-w", "%{http_code}", `http://b.example:${http}/`);
    expect(plain.stdout).toBe("TOKEN is not for b.example\n403");
    expect(hosts.events.at(-1)).toMatchObject({ verdict: "denied", secrets: ["TOKEN"] });
    const socket = await hosts.dial();
    socket.write(`CONNECT b.example:${echo} HTTP/1.1\r\n\r\nharmless ${PLACEHOLDER}\n`);
    expect(await readAll(socket)).not.toContain("harmless");
    expect(hosts.egress.takeDenials()).toEqual(["TOKEN is not for b.example", "TOKEN would leave"]);
  });

  it("are told about when the program does not trust our certificate", async () => {
    expect((await hosts.curl(`https://api.example:${https}/`)).status).toBe(60);
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({
      verdict: "failed",
      via: "connect",
      why: expect.stringContaining("TLS handshake"),
    });
  });
});

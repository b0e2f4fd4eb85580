import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, readAll, until } from "../../../../test/setup/egress-hosts.js";

const MARKER = "REACHED";
const hosts = new EgressHosts();
const seen: string[] = [];
let http = 0;
let https = 0;
let raw = 0;

beforeAll(async () => {
  http = await hosts.http((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.host}`);
    if (request.url === "/redirect") response.writeHead(302, { location: "http://169.254.169.254/latest" });
    request.resume().on("end", () => response.end(MARKER));
  });
  https = await hosts.https((_, response) => response.end(MARKER), "api.example");
  raw = await hosts.tcp((socket) => {
    socket.on("data", (chunk) => seen.push(chunk.toString("latin1"))).on("end", () => socket.end());
  });
});

afterAll(() => hosts.close());

beforeEach(async () => {
  seen.length = 0;
  hosts.names.clear();
  await openHosts();
});

const openHosts = (limits = {}) =>
  hosts.open({
    rules: allowing(["api.example", "*.files.example"], onPorts(80, 443, http, https, raw)),
    limits,
  });

/** Nothing of it got to a host, and an event tells of it. */
async function expectRefused(answer: string): Promise<void> {
  expect(answer).not.toContain(MARKER);
  expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
  expect(seen).toEqual([]);
}

describe("addresses", () => {
  it.each([
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "10.0.0.1",
    "localhost",
  ])("refuses %s in CONNECT, in a URL and in SOCKS", async (address) => {
    const connect = await hosts.talk(
      `CONNECT ${address}:${http} HTTP/1.1\r\nHost: ${address}:${http}\r\n\r\n`,
      /\n\r\n/,
    );
    await expectRefused(connect);
    expect(connect).toMatch(/^HTTP\/1\.1 403 /);
    const plain = await hosts.talk(
      `GET http://${address}:${http}/ HTTP/1.1\r\nHost: ${address}:${http}\r\n\r\n`,
      /\n\r\n/,
    );
    await expectRefused(plain);
    expect(plain).toMatch(/^HTTP\/1\.1 403 /);
    expect(await socks(address.replace(/[[\]]/g, ""), http)).toBe(2);
    await expectRefused("");
    expect(hosts.egress.totals).toEqual({ bytesSent: 0, bytesReceived: 0 });
    expect(hosts.events.every(({ verdict }) => verdict === "denied")).toBe(true);
  });

  it("refuses an address in SOCKS' own form", async () => {
    expect(await socksRaw(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, http >> 8, http & 0xff]))).toBe(2);
    const loopback6 = [...Array(15).fill(0), 1];
    expect(await socksRaw(Buffer.from([5, 1, 0, 4, ...loopback6, http >> 8, http & 0xff]))).toBe(2);
    const mapped = [...Array(10).fill(0), 0xff, 0xff, 127, 0, 0, 1];
    expect(await socksRaw(Buffer.from([5, 1, 0, 4, ...mapped, http >> 8, http & 0xff]))).toBe(2);
  });

  it("refuses an allowed name that resolves to loopback or to metadata", async () => {
    for (const address of ["127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "10.1.2.3"]) {
      hosts.names.set("api.example", [address]);
      const { stdout } = await hosts.curl(`http://api.example:${http}/`);
      expect(stdout).toContain(`api.example resolves to`);
      await expectRefused(stdout);
    }
  });

  it("dials the answer that it checked, however the name changes", async () => {
    let asked = 0;
    hosts.names.set("api.example", () => (asked++ === 0 ? ["127.0.0.2"] : ["127.0.0.1"]));
    expect((await hosts.curl(`http://api.example:${http}/`)).stdout).toBe(MARKER);
    expect(asked).toBe(1);
    expect(hosts.events[0]).toMatchObject({ address: "127.0.0.2" });
    const { stdout } = await hosts.curl(`http://api.example:${http}/`);
    expect(stdout).toContain("resolves to 127.0.0.1");
  });

  it("does not follow a redirect to metadata, and refuses it to who does", async () => {
    const { stdout } = await hosts.curl("-L", `http://api.example:${http}/redirect`);
    expect(stdout).toBe("169.254.169.254 is not allowed by rule allowedIps\n");
  });
});

describe("names", () => {
  it.each([
    ["a look-alike suffix", "evilapi.example"],
    ["a suffix behind an allowed name", "api.example.evil.test"],
    ["the name that only its subdomains are allowed of", "files.example"],
    ["userinfo", "api.example@evil.test"],
    ["userinfo with a port", "api.example:80@evil.test"],
    ["a NUL", "api.example\0.evil.test"],
    ["a percent sign", "api.example%00.evil.test"],
    ["a space", "api.example evil.test"],
    ["a backslash", "evil.test\\api.example"],
    ["a hash", "evil.test#api.example"],
    ["a full-width dot", "evil.test\u3002api.example"],
    ["nothing", ""],
  ])("refuses %s", async (_, name) => {
    const connect = await hosts.talk(
      `CONNECT ${name}:${http} HTTP/1.1\r\nHost: ${name}:${http}\r\n\r\n`,
      /\n\r\n/,
    );
    expect(connect).toMatch(/^HTTP\/1\.1 40[03] /);
    await expectRefused(connect);
    const plain = await hosts.talk(
      `GET http://${name}:${http}/ HTTP/1.1\r\nHost: ${name}:${http}\r\n\r\n`,
      /\n\r\n/,
    );
    expect(plain).toMatch(/^HTTP\/1\.1 40[03] /);
    await expectRefused(plain);
    if (name !== "") expect(await socks(name, http)).toBe(2);
    await expectRefused("");
  });

  it("takes spellings of an allowed name for what they are", async () => {
    expect((await hosts.curl(`http://API.Example.:${http}/`)).stdout).toBe(MARKER);
    expect(seen).toEqual([`GET / api.example:${http}`]);
  });

  it("refuses TLS that names another host than the tunnel, or none", async () => {
    const other = ["--connect-to", `evil.test:443:api.example:${https}`, "-k", "https://evil.test/"];
    const { status, stderr } = await hosts.curl(...other);
    expect([status, stderr]).toEqual([35, expect.stringContaining("alert access denied")]);
    await until(() => hosts.events.length > 0, "it is told");
    expect(hosts.events[0]).toMatchObject({
      verdict: "denied",
      why: "TLS in a tunnel to api.example names evil.test (SNI)",
    });
    const { status: nameless } = await hosts.curl(
      "--connect-to",
      `127.0.0.9:443:api.example:${https}`,
      "-k",
      "https://127.0.0.9/",
    );
    expect(nameless).toBe(35);
    expect(hosts.egress.takeDenials()).toContain(
      "TLS to api.example has to name it (SNI), and names no host",
    );
  });

  it("refuses a Host header for another host", async () => {
    const { stdout } = await hosts.curl("-H", "Host: evil.test", `http://api.example:${http}/`);
    expect(stdout).toBe(`the Host header is not for api.example:${http}, where the request goes\n`);
    const tunnelled = await hosts.curl("-p", "-H", "Host: evil.test", `http://api.example:${http}/`);
    expect(tunnelled.stdout).toBe(`the Host header is not for api.example:${http}, where the request goes\n`);
    const two = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\nHost: evil.test\r\n\r\n`;
    expect(await hosts.talk(two, /\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /);
    const connect = `CONNECT api.example:${http} HTTP/1.1\r\nHost: evil.test\r\n\r\n`;
    expect(await hosts.talk(connect, /\n\r\n/)).toMatch(/^HTTP\/1\.1 403 /);
    expect(seen).toEqual([]);
  });
});

describe("requests", () => {
  const head = () => `POST http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\n`;
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

  it.each([
    ["two kinds of length", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two kinds, the other way round", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"],
    ["two lengths", "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"],
    ["a length with a sign", "Content-Length: +4\r\n\r\nabcd"],
    ["a list of lengths", "Content-Length: 4, 4\r\n\r\nabcd"],
    ["a header folded over two lines", "X-A: b\r\n Content-Length: 4\r\n\r\nabcd"],
    ["a line that ends in LF only", "X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["an encoding that is nearly chunked", "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"],
    ["an encoding after chunked", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"],
    ["a NUL in a value", "X-A: a\0b\r\nContent-Length: 0\r\n\r\n"],
    ["a CR in a value", "X-A: a\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"],
    ["a chunk whose size is none", "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"],
    ["a chunk longer than its size", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"],
  ])("refuses %s", async (_, rest) => {
    const answer = await hosts.talk(head() + rest + smuggled);
    expect(answer).not.toContain(MARKER);
    expect(seen.filter((line) => line.includes("smuggled"))).toEqual([]);
    expect(answer === "" || /^HTTP\/1\.1 400 /.test(answer)).toBe(true);
  });

  it("rewrites a body with chunk extensions, so that the host sees one request", async () => {
    const chunked = 'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;a="b"\r\nabc\r\n0\r\n\r\n';
    expect(await hosts.talk(head() + chunked)).toContain(MARKER);
    expect(seen).toEqual([`POST / api.example:${http}`]);
  });

  it("checks the second request of a kept connection like the first", async () => {
    const get = (host: string, path: string) =>
      `GET http://${host}:${http}${path} HTTP/1.1\r\nHost: ${host}:${http}\r\n\r\n`;
    const socket = await hosts.dial();
    socket.write(get("api.example", "/one"));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await until(() => text.includes(MARKER), "the first is answered");
    socket.write(get("evil.test", "/two"));
    await until(() => text.includes("evil.test is not allowed"), "the second is refused");
    socket.write(get("a.files.example", "/three"));
    await until(() => text.split(MARKER).length === 3, "the third is answered");
    socket.destroy();
    expect(seen).toEqual([`GET /one api.example:${http}`, `GET /three a.files.example:${http}`]);
  });

  it("checks pipelined requests one by one, and answers in order", async () => {
    const get = (host: string) => `GET http://${host}:${http}/ HTTP/1.1\r\nHost: ${host}:${http}\r\n\r\n`;
    const answer = await hosts.talk(
      get("api.example") + get("evil.test") + get("api.example"),
      /403[\s\S]*REACHED/,
    );
    expect(answer.match(/REACHED|HTTP\/1\.1 \d+/g)).toEqual([
      "HTTP/1.1 200",
      "REACHED",
      "HTTP/1.1 403",
      "HTTP/1.1 200",
      "REACHED",
    ]);
  });

  it("takes what is sent behind CONNECT as the tunnel's, for its host only", async () => {
    const connect = `CONNECT api.example:${http} HTTP/1.1\r\nHost: api.example:${http}\r\n\r\n`;
    const inside = `GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`;
    const answer = await hosts.talk(connect + inside, /403/);
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 403 the request is for evil\.test:80/);
    expect(seen).toEqual([]);
    const nested = await hosts.talk(connect + connect, /403/);
    expect(nested).toContain("403 there is no tunnel inside a tunnel");
    expect(seen).toEqual([]);
  });

  it("drops a CONNECT that is pipelined behind a request", async () => {
    const get = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\n\r\n`;
    const answer = await hosts.talk(`${get}CONNECT api.example:${http} HTTP/1.1\r\n\r\n`);
    expect(answer).not.toContain("Connection established");
  });

  it("upgrades to nothing but a WebSocket", async () => {
    const h2c = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`;
    expect(await hosts.talk(h2c, /\n\r\n/)).toMatch(/^HTTP\/1\.1 501 /);
    expect(await hosts.talk(`CONNECT api.example:80 HTTP/1.1\r\n\r\n`, /\n\r\n/)).toMatch(/^HTTP\/1\.1 502 /);
    expect(seen).toEqual([]);
  });

  it("lets nothing but HTTP and TLS to the web's ports", async () => {
    const web = await hosts.listen(
      createServer((socket) => socket.on("data", (chunk) => seen.push(String(chunk)))),
      "127.0.0.2",
      443,
    );
    expect(web).toBe(443);
    await hosts.talk("CONNECT api.example:443 HTTP/1.1\r\n\r\nSSH-2.0-x\r\n");
    await hosts.talk("CONNECT api.example:443 HTTP/1.1\r\n\r\n\x16\x02\x01garbage");
    await hosts.talk("CONNECT api.example:443 HTTP/1.1\r\n\r\n\x00\x01\x02");
    await hosts.talk("CONNECT api.example:443 HTTP/1.1\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    expect(seen).toEqual([]);
    expect(hosts.egress.takeDenials()).toContain("only HTTP and TLS may pass to port 443 of api.example");
  });

  it("lets nothing but the requests that a host is narrowed to pass, none with a body where none belongs", async () => {
    await hosts.open({
      rules: allowing([], {
        ...onPorts(http, https, raw),
        requests: [
          { value: { host: "api.example", methods: ["GET"], paths: ["/public/**"] }, rule: "requests[0]" },
        ],
      }),
    });
    expect((await hosts.curl(`http://api.example:${http}/public/a`)).stdout).toBe(MARKER);
    for (const path of ["/private", "/public/../private", "/public/%2e%2e/private"]) {
      const { stdout } = await hosts.curl("--path-as-is", `http://api.example:${http}${path}`);
      expect(stdout).toContain("requests[0]");
    }
    expect((await hosts.curl("-X", "DELETE", `http://api.example:${http}/public/a`)).stdout).toContain(
      "requests[0]",
    );
    // The host may read what it leaves unread as a request of its own.
    const hidden = `GET /private HTTP/1.1\r\nHost: api.example:${http}\r\n\r\n`;
    for (const framing of [
      `Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]) {
      const url = `http://api.example:${http}/public/a`;
      const answer = await hosts.talk(
        `GET ${url} HTTP/1.1\r\nHost: api.example:${http}\r\n${framing}`,
        /\n\r\n/,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 403 .*has a body.*requests\[0\]/s);
    }
    expect((await hosts.curl("-k", `https://api.example:${https}/public/a`)).status).toBe(35);
    const garbage = await hosts.talk(`CONNECT api.example:${raw} HTTP/1.1\r\n\r\nhello raw\r\n`);
    expect(garbage).toMatch(/^HTTP\/1\.1 200 [^\n]*\r\n\r\n$/);
    expect(seen).toEqual([`GET /public/a api.example:${http}`]);
  });
});

describe("SOCKS", () => {
  it("refuses other commands, kinds of address and ways to log in", async () => {
    const bind = Buffer.from([5, 2, 0, 1, 127, 0, 0, 2, http >> 8, http & 0xff]);
    expect(await socksRaw(bind)).toBe(7);
    expect(await socksRaw(Buffer.from([5, 3, 0, 1, 127, 0, 0, 2, 0, 53]))).toBe(7);
    expect(await socksRaw(Buffer.from([5, 1, 0, 9, 1, 2, 3, 4, 5, 6]))).toBe(8);
    expect(await socksRaw(Buffer.from([4, 1, 0, 1, 127, 0, 0, 2, 0, 80]))).toBe(1);
    expect(await hosts.talk(Buffer.from([5, 1, 2]))).toBe("\x05\xff");
    expect(await hosts.talk(Buffer.from([5, 0]))).toBe("\x05\xff");
    expect(seen).toEqual([]);
  });

  it("tells that nothing listens there", async () => {
    await hosts.open({ rules: allowing(["api.example"], onPorts(1)) });
    expect(await socks("api.example", 1)).toBe(5);
  });
});

describe("time and room", () => {
  // Here only: a busy machine may take longer for what is allowed.
  beforeEach(() => openHosts({ headMs: 600, idleMs: 900, responseMs: 400, connectMs: 500 }));

  it("ends a client that sends one byte at a time", async () => {
    const socket = await hosts.dial();
    const answer = readAll(socket);
    const request = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\n\r\n`;
    let at = 0;
    const timer = setInterval(() => socket.write(request[at++ % request.length]!), 50);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 the request did not arrive within 0\.6 s/);
    clearInterval(timer);
    expect(seen).toEqual([]);
  });

  it("ends clients that say nothing, or only half of what they want", async () => {
    for (const start of [
      "",
      "\x05",
      "\x05\x01\x00\x05\x01",
      `CONNECT api.example:${raw} HTTP/1.1\r\n\r\n\x16\x03`,
    ]) {
      const socket = await hosts.dial();
      if (start !== "") socket.write(Buffer.from(start, "latin1"));
      socket.resume();
      await Promise.race([once(socket, "close"), once(socket, "end")]);
      socket.destroy();
    }
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
    expect(seen).toEqual([]);
  });

  it("ends a request that is never answered, and a tunnel on which nothing passes", async () => {
    const { stdout } = await hosts.curl("-w", "%{http_code}", `http://api.example:${raw}/`);
    expect(stdout).toBe("api.example did not answer in time\n504");
    await hosts.talk(`CONNECT api.example:${raw} HTTP/1.1\r\n\r\nsome bytes\n`);
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
  });

  it("refuses more headers than fit, before all of them are there", async () => {
    const bomb = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\n${"X-A: b\r\n".repeat(8000)}`;
    expect(await hosts.talk(bomb)).toMatch(/^HTTP\/1\.1 431 the headers are longer than 32768 bytes/);
    expect(seen).toEqual([]);
  });

  it("refuses connections beyond the limit, and takes new ones when there is room again", async () => {
    await hosts.open({ rules: allowing(["api.example"], onPorts(http)), limits: { maxConnections: 16 } });
    const sockets = await Promise.all(Array.from({ length: 16 }, () => hosts.dial()));
    await until(() => hosts.egress.open.clients === 16, "all are taken");
    const refused = await Promise.all(Array.from({ length: 500 }, () => hosts.talk("")));
    expect(new Set(refused.map((text) => text.split("\r\n", 1)[0]))).toEqual(
      new Set(["HTTP/1.1 503 the sandbox has 16 connections open, which is the limit"]),
    );
    for (const socket of sockets) socket.destroy();
    await until(() => hosts.egress.open.clients === 0, "they are gone");
    expect((await hosts.curl(`http://api.example:${http}/`)).stdout).toBe(MARKER);
  });

  it("does not flood the listener for events", async () => {
    await hosts.open({ rules: allowing([]), limits: { maxConnections: 1000 } });
    const ask = (name: string) => `GET http://${name}/ HTTP/1.1\r\nHost: ${name}\r\n\r\n`;
    const start = Date.now();
    for (let round = 0; round < 30; round++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => hosts.talk(ask(`h${round}-${at}.test`), /\n\r\n/)),
      );
    }
    hosts.egress.close();
    const total = hosts.events.reduce((sum, { count }) => sum + (count ?? 1), 0);
    expect(total).toBe(1500);
    const seconds = Math.ceil((Date.now() - start) / 1000) + 1;
    expect(hosts.events.length).toBeLessThan(seconds * 130);
    expect(hosts.egress.takeDenials()).toHaveLength(21);
  });

  it("survives resets on both sides", async () => {
    const reset = await hosts.tcp((socket) => socket.once("data", () => socket.resetAndDestroy()));
    await hosts.open({ rules: allowing(["api.example"], onPorts(reset, http)) });
    await hosts.talk(`CONNECT api.example:${reset} HTTP/1.1\r\n\r\nx\n`);
    const { stdout } = await hosts.curl("-w", "%{http_code}", `http://api.example:${reset}/`);
    expect(stdout).toMatch(/502$/);
    const socket = await hosts.dial();
    socket.write(`GET http://api.example:${http}/ HTTP/1.1\r\nHost:`);
    await until(() => hosts.egress.open.clients === 1, "it is there");
    socket.resetAndDestroy();
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
  });
});

/** The reply to a SOCKS request for a name. */
async function socks(name: string, port: number): Promise<number> {
  const host = Buffer.from(name);
  return socksRaw(
    Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), host, Buffer.from([port >> 8, port & 0xff])]),
  );
}

async function socksRaw(request: Buffer): Promise<number> {
  const answer = await hosts.talk(Buffer.concat([Buffer.from([5, 1, 0]), request]), /^[\s\S]{12}/);
  expect(answer.slice(0, 3)).toBe("\x05\x00\x05");
  return answer.charCodeAt(3);
}

import { truncateSync, writeFileSync } from "node:fs";
import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, readAll, until } from "../../../../test/setup/egress-hosts.js";

const SIZE = 8 * 1024 * 1024;
const hosts = new EgressHosts();
let eager = 0;
let curt = 0;
let deaf = 0;
/** Bodies that arrived whole. */
let taken: number[] = [];

beforeAll(async () => {
  eager = await hosts.http((request, response) => {
    response.end(`early ${request.url}`);
    let size = 0;
    request.on("data", (chunk) => {
      size += chunk.length;
    });
    request.on("end", () => taken.push(size));
  });
  const answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n";
  curt = await hosts.tcp((socket) => {
    socket.once("data", () => socket.end(`${answer}connection: close\r\n\r\nno\n`));
  });
  deaf = await hosts.tcp((socket) => {
    socket.once("data", () => {
      socket.pause();
      socket.write(`${answer}\r\nno\n`);
    });
  });
});

afterAll(() => hosts.close());

beforeEach(async () => {
  taken = [];
  await openHosts({ headMs: 300, idleMs: 600 });
});

const openHosts = (limits: { headMs: number; idleMs: number }) =>
  hosts.open({ rules: allowing(["api.example"], onPorts(eager, curt, deaf)), limits });

function head(port: number, path: string, length: number, host = "api.example"): string {
  return `POST http://${host}:${port}${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Length: ${length}\r\n\r\n`;
}

/** A connection that is no socket: its end is not its destruction. */
function dialAsTheGuest(): Duplex {
  const sides: Duplex[] = [0, 1].map(
    (side) =>
      new Duplex({
        read: () => undefined,
        write: (chunk, _encoding, done) => {
          sides[1 - side]!.push(chunk);
          done();
        },
      }),
  );
  hosts.egress.accept(sides[1]!);
  return sides[0]!;
}

function told() {
  return hosts.events.map(({ verdict, path, why }) => [verdict, path, why]);
}

describe("a body whose answer came before its end", () => {
  it("arrives whole", async () => {
    const file = `${hosts.directory}/upload`;
    writeFileSync(file, "");
    truncateSync(file, SIZE);
    const { stdout } = await hosts.curl("-H", "Expect:", "-T", file, `http://api.example:${eager}/up`);
    expect(stdout).toBe("early /up");
    await until(() => hosts.events.length > 0 && taken.length > 0, "it arrived, and is told");
    expect(taken).toEqual([SIZE]);
    expect(told()).toEqual([["allowed", "/up", "allowed by rule allow api.example"]]);
    expect(hosts.events[0]!.bytesSent).toBeGreaterThan(SIZE);
    expect(hosts.egress.takeDenials()).toEqual([]);
  });

  it("may take longer than a head, and the next request follows it", async () => {
    await openHosts({ headMs: 300, idleMs: 20_000 });
    const socket = await hosts.dial();
    const text = { value: "" };
    socket.on("data", (chunk) => {
      text.value += chunk;
    });
    socket.write(head(eager, "/slow", 100_000));
    await until(() => text.value.includes("early /slow"), "it is answered");
    for (let piece = 0; piece < 10; piece++) {
      await sleep(60);
      socket.write("x".repeat(10_000));
    }
    socket.write(`GET http://api.example:${eager}/next HTTP/1.1\r\nHost: api.example:${eager}\r\n\r\n`);
    await until(() => text.value.includes("early /next"), "the next one is answered");
    socket.destroy();
    await until(() => taken.length === 2, "both arrived");
    expect(taken).toEqual([100_000, 0]);
    expect(told().map(([verdict, path]) => [verdict, path])).toEqual([
      ["allowed", "/slow"],
      ["allowed", "/next"],
    ]);
  });

  it("ends with its client", async () => {
    const socket = await hosts.dial();
    socket.write(head(eager, "/gone", 100_000));
    await readAll(socket, /early/);
    socket.destroy();
    await until(() => hosts.events.length > 0, "it is told");
    expect(told()).toEqual([["failed", "/gone", "the program inside closed it"]]);
    await until(() => hosts.egress.open.routes === 0, "all is closed");
  });

  it.each([
    ["closes", () => curt, "api.example answered, and closed before it had taken the whole body"],
    ["reads no more", () => deaf, "api.example answered, and took no more of the body for 0.6 s"],
  ])("is given up when its host %s, with the answer and no denial", async (_, port, why) => {
    const socket = await hosts.dial();
    socket.write(head(port(), "/", SIZE * 4));
    const answer = readAll(socket);
    const body = Buffer.alloc(SIZE, "x");
    for (let piece = 0; piece < 4; piece++) socket.write(body);
    expect(await answer).toMatch(/^HTTP\/1\.1 413 Too Large\r\n[\s\S]*\r\n\r\nno\n$/);
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
    expect(told()).toEqual([["failed", "/", why]]);
    expect(hosts.egress.takeDenials()).toEqual([]);
  });

  it("is not taken for another request when the first is denied", async () => {
    const socket = dialAsTheGuest();
    socket.write(head(eager, "/", 1_000_000, "evil.example"));
    await new Promise((done) => socket.once("data", done));
    for (let piece = 0; piece < 10; piece++) {
      socket.write("x".repeat(20_000));
      await sleep(5);
    }
    await until(() => hosts.egress.open.clients === 0, "all is closed");
    expect(hosts.egress.takeDenials()).toEqual(["evil.example is not allowed by rule allowedDomains"]);
  });
});

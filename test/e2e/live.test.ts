import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { type ServerProcess, startServer } from "../setup/server-process.js";
import { askForEvents } from "../setup/server-sent-events.js";
import { createUser, type User } from "./run-skerry.js";

const MIB = 1024 * 1024;
const SIZE = 100 * MIB;
/** Says everything back as it comes: in a tunnel, and as the body of an answer. */
const ECHO = `
import asyncio
async def serve(reader, writer):
    first = await reader.read(1)
    left = 1 << 60
    if first != b"\\0":
        head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
        left = int(head.split(b"content-length: ")[1].split(b"\\r\\n")[0])
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % left)
    else: writer.write(first)
    while left > 0 and (data := await reader.read(65536)):
        left -= len(data)
        writer.write(data)
        await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 8000)
    print("listening", flush=True)
    await server.serve_forever()
asyncio.run(main())
`;

let user: User;
let server: ServerProcess;
let key: string;

beforeEach(async () => {
  user = createUser();
  writeFileSync(join(user.home, "c.yaml"), "sandbox: { network: { allowLocalBinding: true } }\n");
  server = await startServer(user, ["--config", "c.yaml"]);
  key = server.key!;
});

afterEach(async () => {
  server.kill("SIGKILL");
  await server.ended;
  // What a killed server left goes with the next command of the same state directory.
  user.skerry(["exec", "--", "true"]);
});

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
async function call(method: string, path: string, json?: unknown): Promise<any> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(json !== undefined && { "content-type": "application/json" }),
  };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return (await fetch(`${server.url}${path}`, { method, headers, ...body })).json();
}

const processes = "/v1/sessions/s/processes";

/** What the server's memory grew to meanwhile, in MiB. */
async function growth(action: () => Promise<void>): Promise<number> {
  const before = server.memoryMb();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, server.memoryMb());
  }, 20);
  await action();
  clearInterval(timer);
  return most - before;
}

function* pieces(): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1024, "0123456789abcdef");
  // The first byte says to what listens that this is no HTTP.
  yield Buffer.concat([Buffer.from("\0"), piece.subarray(1)]);
  for (let sent = piece.length; sent < SIZE; sent += piece.length) yield piece;
}

function hashOfPieces(): string {
  const hash = createHash("sha256");
  for (const piece of pieces()) hash.update(piece);
  return hash.digest("hex");
}

requires("bubblewrap", "python3").describe("what lasts", () => {
  it("prints without end while its output is not read, in flat memory", async () => {
    const { id } = await call("POST", processes, { command: "tr '\\0' x < /dev/zero" });
    // A follower that reads nothing holds up neither the program nor our memory.
    const stalled = await askForEvents(`${server.url}${processes}/${id}/logs`, key);
    stalled.pause();
    const grown = await growth(() =>
      waitUntil(async () => (await call("GET", `${processes}/${id}`)).outputBytes > 400 * MIB, 120_000),
    );
    stalled.destroy();
    expect(grown).toBeLessThan(150);
    expect(await call("DELETE", `${processes}/${id}`)).toEqual({ deleted: true });
  });

  it("carries 100 MiB both ways, in a tunnel and in a request, in flat memory", async () => {
    const { id } = await call("POST", processes, { language: "python", code: ECHO });
    await call("GET", `${processes}/${id}/logs?waitMs=30000`);
    const expected = hashOfPieces();
    const tunnelled = createHash("sha256");
    const inTunnel = await growth(async () => {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/sessions/s/tunnels/8000`, {
        headers: { authorization: `Bearer ${key}` },
      });
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      let received = 0;
      const all = new Promise<void>((resolve) =>
        socket.on("message", (data: Buffer) => {
          tunnelled.update(data);
          received += data.length;
          if (received === SIZE) resolve();
        }),
      );
      for (const piece of pieces()) await new Promise<void>((sent) => socket.send(piece, () => sent()));
      await all;
      socket.terminate();
    });
    expect(tunnelled.digest("hex")).toBe(expected);
    expect(inTunnel).toBeLessThan(150);

    const requested = createHash("sha256");
    const inRequest = await growth(
      () =>
        new Promise((resolve, reject) => {
          const headers = { authorization: `Bearer ${key}`, "content-length": SIZE, "content-type": "a/b" };
          const url = `${server.url}/v1/sessions/s/ports/8000/echo`;
          const request = httpRequest(url, { method: "POST", agent: false, headers }, (response) => {
            response.on("data", (data: Buffer) => requested.update(data));
            response.on("end", resolve).on("error", reject);
          });
          pipeline(Readable.from(pieces()), request).catch(reject);
        }),
    );
    expect(requested.digest("hex")).toBe(expected);
    expect(inRequest).toBeLessThan(150);
  });

  it("is interrupted by a kill of the server: in the list, in the record, and nothing of it is left", async () => {
    const { id } = await call("POST", processes, { argv: ["sleep", "61616"] });
    const terminal = await call("POST", "/v1/sessions/s/terminals", {
      rows: 24,
      columns: 80,
      argv: ["sleep", "61616"],
    });
    const isAlive = () =>
      readdirSync("/proc").some((pid) => {
        try {
          return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("61616");
        } catch {
          // It ended meanwhile.
          return false;
        }
      });
    await waitUntil(isAlive);
    server.kill("SIGKILL");
    await server.ended;
    await waitUntil(() => !isAlive());
    server = await startServer(user, ["--config", "c.yaml"]);
    for (const each of [id, terminal.id])
      expect(await call("GET", `/v1/executions/${each}`)).toMatchObject({
        state: "interrupted",
        result: null,
      });
    expect(await call("GET", processes)).toEqual({ items: [] });
    expect(await call("GET", "/v1/sessions/s/terminals")).toEqual({ items: [] });
    const { items } = await call("GET", "/v1/audit?sessionId=s&result=interrupted");
    expect(items).toHaveLength(2);
  });
});

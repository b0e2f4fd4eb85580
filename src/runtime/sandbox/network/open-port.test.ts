import { connect, createServer } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { parseConfig } from "../../../core/config/index.js";
import { SandboxManager } from "../../../core/manager/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import type { RunningSandbox } from "../index.js";

/** Answers "you said " and everything it was sent, after the client has said that it is done. */
const SERVER = `
import socketserver
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        parts = []
        while True:
            part = self.request.recv(65536)
            if not part: break
            parts.append(part)
        self.request.sendall(b"you said " + b"".join(parts))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 64  # where more wait than that, Linux itself loses what the first of them said
Server(("127.0.0.1", 8000), Handler).serve_forever()
`;

let stateDir: string;
let manager: SandboxManager;
let sandbox: RunningSandbox;
const stop = new AbortController();

beforeAll(async () => {
  stateDir = temporaryDirectory();
  const config = await parseConfig({ sandbox: { network: { allowLocalBinding: true } } });
  manager = openManager({ config, stateDir });
  sandbox = await manager.startSandbox("server");
  void sandbox.runCode(SERVER, { language: "python", signal: stop.signal }).catch(() => undefined);
  await waitUntil(async () => {
    try {
      (await sandbox.network.connect(8000)).destroy();
      return true;
    } catch {
      return false;
    }
  }, 180_000);
});

afterAll(async () => {
  stop.abort();
});

async function say(port: number, words: string | Buffer): Promise<Buffer> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end(words);
  return buffer(socket);
}

describe("a port inside that is opened", () => {
  it("is reached on this host's loopback, by many at once and with much to say", async () => {
    const opened = await sandbox.network.openPort(8000);
    const long = Buffer.alloc(3_000_000, "x");
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, index) => say(opened.hostPort, String(index))),
      say(opened.hostPort, long),
    ]);
    expect(answers.slice(0, 20).map(String)).toEqual(Array.from({ length: 20 }, (_, i) => `you said ${i}`));
    expect(answers[20]!.length).toBe(long.length + "you said ".length);
    await opened.close();
    await expect(say(opened.hostPort, "x")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("is on no other address of this host", async () => {
    const opened = await sandbox.network.openPort(8000);
    const other = connect({ port: opened.hostPort, host: "127.0.0.2" });
    await expect(text(other)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await opened.close();
  });

  it("resets connections while nothing listens inside", async () => {
    const opened = await sandbox.network.openPort(8001);
    await expect(say(opened.hostPort, "x")).rejects.toMatchObject({ code: "ECONNRESET" });
    await opened.close();
  });

  it("is refused on a port that is taken, and on one that is none", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    await expect(sandbox.network.openPort(8000, { hostPort: port })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: `Port ${port} of this host is in use`,
    });
    for (const port of [0, -1, 65_536, 1.5, Number.NaN]) {
      await expect(sandbox.network.openPort(port)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    taken.close();
  });

  it("goes with its sandbox, and its connections with it", async () => {
    const other = await manager.startSandbox("other");
    const opened = await other.network.openPort(8000);
    await manager.cleanupSession("other");
    await opened.closed;
    await expect(say(opened.hostPort, "x")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await expect(other.network.openPort(8000)).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("is refused where the configuration does not say that it may", async () => {
    const closed = new SandboxManager({ stateDir, handleSignals: false });
    const shut = await closed.startSandbox("shut");
    await expect(shut.network.openPort(8000)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await closed.close();
  });
});

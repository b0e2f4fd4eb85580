import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { dial } from "./dial.js";

const open: (Server | Socket)[] = [];
afterEach(() => {
  for (const each of open.splice(0)) "destroy" in each ? each.destroy() : each.close();
});

async function listen(address: string, port = 0): Promise<number> {
  const server = createServer((socket) => {
    open.push(socket);
    socket.end(`${socket.localAddress}`);
  });
  open.push(server);
  server.listen(port, address);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function answer(socket: Socket): Promise<string> {
  open.push(socket);
  const [data] = await once(socket, "data");
  return String(data);
}

describe("dial", () => {
  it("connects to the first address that answers", async () => {
    const port = await listen("127.0.0.3");
    const socket = await dial(["127.0.0.2", "127.0.0.3"], port, { connectMs: 5000 });
    expect(await answer(socket)).toBe("127.0.0.3");
    expect([socket.listenerCount("connect"), socket.listenerCount("error")]).toEqual([0, 0]);
  });

  it("keeps its own half open when the other side has ended", async () => {
    const socket = await dial(["127.0.0.1"], await listen("127.0.0.1"), { connectMs: 5000 });
    open.push(socket);
    socket.resume();
    await once(socket, "end");
    expect(socket.writable).toBe(true);
  });

  it("says that nothing listens there", async () => {
    const port = await listen("127.0.0.1");
    await expect(dial(["127.0.0.4", "127.0.0.5"], port, { connectMs: 5000 })).rejects.toMatchObject({
      code: "ECONNREFUSED",
      message: `127.0.0.4 port ${port}: the connection was refused`,
    });
  });

  it.each(["example.com", "localhost", "127.1", "", "fe80::1%nothing/"])(
    "never dials the name %j",
    async (name) => {
      await expect(dial([name], 80, { connectMs: 1000 })).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(dial(["127.0.0.1", name], 80, { connectMs: 1000 })).rejects.toMatchObject({
        code: "INTERNAL",
      });
    },
  );

  it("stops when its caller does", async () => {
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(dial(["127.0.0.1"], 9, { connectMs: 1000, signal: gone })).rejects.toThrow("gone");
  });

  it("gives up in time", async () => {
    // 192.0.2.0/24 is unused; without a route to it the error comes at once.
    const failed = await dial(["192.0.2.1"], 81, { connectMs: 200 }).catch((error) => error);
    expect(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED"]).toContain(failed.code);
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, until } from "../../../../test/setup/egress-hosts.js";

const hosts = new EgressHosts();
let echo = 0;
let moody = 0;

beforeAll(async () => {
  echo = await hosts.tcp((socket) => socket.pipe(socket));
  moody = await hosts.tcp((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.resetAndDestroy());
  });
});

afterAll(() => hosts.close());

beforeEach(async () => {
  await hosts.open({ rules: allowing(["api.example"], onPorts(echo, moody)) });
});

/** A tunnel through which something has passed. */
async function open(port: number) {
  const socket = await hosts.dial();
  const text = { value: "" };
  socket.on("data", (chunk) => {
    text.value += chunk;
  });
  socket.write(`CONNECT api.example:${port} HTTP/1.1\r\n\r\nhello\n`);
  await until(() => text.value.includes("\r\n\r\n"), "the tunnel is open");
  return { socket, text };
}

const ALLOWED = "allowed by rule allow api.example";

describe("the end of a tunnel", () => {
  it("is told as a failure, with its reason, when the host breaks it off", async () => {
    await open(moody);
    await until(() => hosts.events.length > 0, "it is told");
    expect(hosts.events).toMatchObject([
      { verdict: "failed", why: "the host broke the connection off (ECONNRESET)", bytesSent: 6 },
    ]);
  });

  it("is told as a failure, with its reason, when nothing passes", async () => {
    await hosts.open({ rules: allowing(["api.example"], onPorts(echo)), limits: { idleMs: 200 } });
    await open(echo);
    await until(() => hosts.events.length > 0, "it is told");
    expect(hosts.events).toMatchObject([
      { verdict: "failed", why: "closed: nothing passed for 0.2 s", bytesSent: 6, bytesReceived: 6 },
    ]);
  });

  it.each(["end", "destroy"] as const)(
    "is nothing special when the program inside does it: %s",
    async (how) => {
      const { socket, text } = await open(echo);
      await until(() => text.value.endsWith("hello\n"), "it came back");
      socket[how]();
      await until(() => hosts.events.length > 0, "it is told");
      expect(hosts.events).toMatchObject([{ verdict: "allowed", why: ALLOWED }]);
    },
  );
});

describe("what stays open", () => {
  it("is told while it is open, and with all its bytes at its end", async () => {
    const { socket, text } = await open(echo);
    await until(() => text.value.endsWith("hello\n"), "it came back");
    await until(() => hosts.events.length > 0, "it is told");
    expect(hosts.egress.open.routes).toBe(1);
    const open_ = { verdict: "allowed", why: ALLOWED, open: true, bytesSent: 0, bytesReceived: 0 };
    expect(hosts.events).toMatchObject([{ ...open_, host: "api.example", address: "127.0.0.2" }]);
    socket.end("bye\n");
    await until(() => hosts.events.length > 1, "its end is told");
    expect(hosts.events[1]).toMatchObject({ verdict: "allowed", bytesSent: 10, bytesReceived: 10 });
    expect(hosts.events[1]).not.toHaveProperty("open");
    expect(hosts.egress.totals).toEqual({ bytesSent: 10, bytesReceived: 10 });
  });

  it("is not told as open when it was over before", async () => {
    const { socket } = await open(echo);
    socket.end();
    await until(() => hosts.events.length > 0, "it is told");
    await sleep(2200);
    expect(hosts.events).toHaveLength(1);
  });
});

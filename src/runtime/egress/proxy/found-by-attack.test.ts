import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { duplexPair } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { allowing, EgressHosts, onPorts, until } from "../../../../test/setup/egress-hosts.js";
import { isOwnAddress } from "../rules/addresses.js";
import { sniff } from "./tunnel.js";

vi.mock("node:os", async (original) => {
  const os = await original<typeof import("node:os")>();
  return { ...os, networkInterfaces: vi.fn(os.networkInterfaces) };
});

const hosts = new EgressHosts();
let http = 0;

beforeAll(async () => {
  http = await hosts.http((_, response) => response.end("REACHED"));
});
beforeEach(async () => {
  await hosts.open({ rules: allowing(["api.example"], onPorts(http)) });
});
afterAll(() => hosts.close());

describe("a client that sends more ahead than it may", () => {
  it("leaves no connection to the host behind", async () => {
    const request = `GET http://api.example:${http}/ HTTP/1.1\r\nHost: api.example:${http}\r\n\r\n`;
    for (let round = 0; round < 20; round++) {
      // As the wire gives them: a stream that closes before what it has begun is over.
      const [inside, outside] = duplexPair();
      hosts.egress.accept(outside);
      inside.on("error", () => undefined).resume();
      const closed = once(outside, "close");
      inside.write(request.repeat(17));
      await closed;
    }
    await delay(300);
    await until(() => hosts.egress.open.routes === 0, "every connection to the host is closed");
  });
});

describe("line ends in front of a request", () => {
  it("do not make it something else", () => {
    const request = Buffer.from("GET /internal HTTP/1.1\r\nHost: admin.internal\r\n\r\n");
    for (const front of ["", "\r\n", "\n\n\r\n"]) {
      expect(sniff(Buffer.concat([Buffer.from(front), request]), false)).toEqual({ kind: "http" });
    }
    expect(sniff(Buffer.from("\r\n"), false)).toBeUndefined();
    expect(sniff(Buffer.from("SSH-2.0-x\r\n"), false)).toEqual({ kind: "other" });
  });
});

describe("an address of this machine", () => {
  it("is one though it is public", () => {
    const address = "11.22.33.44";
    const clock = vi.spyOn(performance, "now").mockReturnValue(1e9);
    vi.mocked(networkInterfaces).mockReturnValue({ eth0: [{ address, family: "IPv4" } as never] });
    expect([isOwnAddress(address), isOwnAddress(`::ffff:${address}`), isOwnAddress("11.22.33.45")]).toEqual([
      true,
      true,
      false,
    ]);
    clock.mockRestore();
  });
});

import { execFile } from "node:child_process";
import { once } from "node:events";
import { truncateSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, until } from "../../../../test/setup/egress-hosts.js";

const MIB = 1024 * 1024;
const SIZE = 256 * MIB;
const hosts = new EgressHosts();
let http = 0;
let https = 0;

beforeAll(async () => {
  const chunk = Buffer.alloc(MIB, "x");
  const listener: RequestListener = (request, response) => {
    if (request.method === "PUT") {
      let size = 0;
      request.on("data", (part) => {
        size += part.length;
      });
      request.on("end", () => response.end(String(size)));
      return;
    }
    response.writeHead(200, { "content-length": SIZE });
    let left = SIZE / MIB;
    const more = () => {
      while (left-- > 0) if (!response.write(chunk)) return void response.once("drain", more);
      response.end();
    };
    more();
  };
  http = await hosts.http(listener);
  https = await hosts.https(listener, "api.example");
  await hosts.open({ rules: allowing(["api.example"], onPorts(http, https)) });
});

afterAll(() => hosts.close());

/** Runs curl, and looks at our memory meanwhile: its growth in MiB. */
async function measure(...args: readonly string[]): Promise<{ growth: number; output: string }> {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const child = execFile("curl", ["-sS", "--max-time", "100", ...args], {
    env: { PATH: process.env["PATH"] ?? "" },
    maxBuffer: MIB,
  });
  let output = "";
  child.stdout?.on("data", (text) => {
    output += text;
  });
  const [code] = await once(child, "close");
  clearInterval(timer);
  expect(code).toBe(0);
  return { growth: (most - before) / MIB, output };
}

describe("256 MiB", () => {
  const proxy = () => ["--proxy", `http://127.0.0.1:${hosts.port}`];

  it.each([
    ["plain HTTP", () => [...proxy(), "-o", "/dev/null", `http://api.example:${http}/`]],
    [
      "a tunnel",
      () => [...proxy(), "--cacert", hosts.caPath, "-o", "/dev/null", `https://api.example:${https}/`],
    ],
  ])(
    "come through %s without being kept in memory",
    async (_, args) => {
      await measure(...args());
      const { growth } = await measure(...args());
      expect(growth).toBeLessThan(64);
      await until(() => hosts.egress.open.routes === 0, "it is over");
    },
    120_000,
  );

  it.each([
    ["plain HTTP", () => [...proxy(), `http://api.example:${http}/`]],
    ["a tunnel", () => [...proxy(), "--cacert", hosts.caPath, `https://api.example:${https}/`]],
  ])(
    "go out through %s without being kept in memory",
    async (_, args) => {
      const file = `${hosts.directory}/upload`;
      writeFileSync(file, "");
      truncateSync(file, SIZE);
      const { growth, output } = await measure("-T", file, ...args());
      expect(output).toBe(String(SIZE));
      expect(growth).toBeLessThan(64);
    },
    120_000,
  );
});

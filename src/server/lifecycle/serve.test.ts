import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer, type TestServerOptions } from "../../../test/setup/test-server.js";
import { parseConfig } from "../../core/config/index.js";
import { methodsFor } from "../http/allowed-methods.js";
import { KeyLimits } from "../http/key-limits.js";
import { serve } from "./serve.js";

let testServer: TestServer | undefined;

afterEach(async () => {
  await testServer?.close();
  testServer = undefined;
});

describe("a server does not start", () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "no.pem"), "no certificate");
  const no = join(directory, "no.pem");

  it.each<[string, TestServerOptions, string]>([
    ["where others would read along", { server: { host: "0.0.0.0" } }, "Without TLS the server listens on"],
    [
      "where all callers would share files",
      { sandbox: { mode: "shared" } },
      "A server cannot run in mode shared",
    ],
    [
      "with a certificate that is none",
      { server: { tls: { cert: no, key: no } } },
      "The server's certificate",
    ],
    ["with a store that is none", { server: { store: "mysql://x/y" } }, "The store cannot be found"],
    [
      "on an address of another machine",
      { server: { host: "192.0.2.1", insecure: true } },
      "cannot listen on",
    ],
  ])("%s", async (_, options, message) => {
    await expect(TestServer.open(options)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
      hint: expect.any(String),
    });
  });

  it("twice from one state directory, and again after the first has stopped", async () => {
    testServer = await TestServer.open();
    const { stateDir } = testServer;
    const second = TestServer.open({ sandbox: { stateDir } });
    await expect(second).rejects.toMatchObject({ code: "CONFLICT" });
    await testServer.stop();
    await testServer.start();
    expect((await testServer.call(testServer.admin, "GET", "/v1/sessions")).status).toBe(200);
  });
});

requires("openssl").describe("a server with a certificate", () => {
  it("is reached over TLS only, also on every address", async () => {
    const directory = temporaryDirectory();
    const [cert, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
    const subject = ["-subj", "/CN=localhost", "-days", "1", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject], {
      stdio: "ignore",
    });
    testServer = await TestServer.open({ server: { host: "0.0.0.0", tls: { cert, key } } });
    const { port } = new URL(testServer.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false };
      httpsRequest(options, (response) => resolve(text(response)))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe('{"status":"ok"}');
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
  });
});

it("a server's first key is made when it listens: one that could not start has shown no key", async () => {
  const stateDir = temporaryDirectory();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const configOf = (port: number) => parseConfig({ sandbox: { stateDir }, server: { port } });
  try {
    const { port } = taken.address() as AddressInfo;
    await expect(serve({ config: await configOf(port) })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    const server = await serve({ config: await configOf(0) });
    await server.stop();
    expect(server.firstKey).toBeDefined();
  } finally {
    taken.close();
  }
});

it("a server does not start with a backend or a role that there is not", async () => {
  const refused = { message: expect.stringContaining("unknown-name") };
  await expect(TestServer.open({ backend: "unknown-name" })).rejects.toMatchObject(refused);
  const policy =
    "policies: { tools: { run_code: { risk_level: low } }, agent_roles: { a: { tools: [run_code] } } }";
  const sandbox = { policy: { role: "unknown-name" } };
  await expect(TestServer.open({ policy, sandbox })).rejects.toMatchObject(refused);
  await expect(TestServer.open({ sandbox })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});

describe("what is no HTTP", () => {
  it.each([
    ["garbage", "\x16\x03\x01 hello\r\n\r\n", "HTTP/1.1 400 Bad Request"],
    ["headers without an end", `GET / HTTP/1.1\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, "HTTP/1.1 431"],
    ["two lengths", "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "HTTP/1.1 400"],
  ])("is answered in the one shape, and cut off: %s", async (_, bytes, status) => {
    testServer = await TestServer.open();
    const { hostname, port } = new URL(testServer.url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    const answer = await text(socket);
    expect(answer.startsWith(status)).toBe(true);
    const body = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
    expect(body).toEqual({
      code: "INVALID_ARGUMENT",
      message: expect.any(String),
      retryable: false,
      requestId: expect.any(String),
    });
  });
});

describe("a key's allowance", () => {
  const limits = { concurrency: 2, requestsPerMinute: 60 };

  it("is so many at once, each of which gives its place back once", () => {
    const keys = new KeyLimits(limits, () => 0);
    const leave = keys.enter("a");
    keys.enter("a");
    expect(() => keys.enter("a")).toThrow(expect.objectContaining({ code: "RATE_LIMITED", afterSeconds: 1 }));
    keys.enter("b");
    leave();
    leave();
    keys.enter("a");
    expect(() => keys.enter("a")).toThrow(expect.objectContaining({ code: "RATE_LIMITED" }));
  });

  it("is so many in a minute, and grows back evenly", () => {
    let now = 0;
    const keys = new KeyLimits(limits, () => now);
    const use = () => keys.enter("a")();
    for (let count = 0; count < 60; count++) use();
    expect(use).toThrow(expect.objectContaining({ code: "RATE_LIMITED", afterSeconds: 1 }));
    now += 999;
    expect(use).toThrow();
    now += 1;
    use();
    expect(use).toThrow();
    now += 600_000;
    for (let count = 0; count < 60; count++) use();
    expect(use).toThrow();
  });
});

describe("methods of an address", () => {
  const routes = [
    { method: "GET", url: "/v1/a/:name" },
    { method: "DELETE", url: "/v1/a/:name" },
    { method: "PUT", url: "/v1/a/:name/files/*" },
    { method: "GET", url: "/openapi.json" },
  ];

  it.each([
    ["/v1/a/x", ["DELETE", "GET"]],
    ["/v1/a/x?y=/z", ["DELETE", "GET"]],
    ["/v1/a/x/files/b/c", ["PUT"]],
    ["/v1/a/", []],
    ["/v1/a/x/y", []],
    ["/openapiXjson", []],
  ])("%s", (url, methods) => {
    expect(methodsFor(routes, url)).toEqual(methods);
  });
});

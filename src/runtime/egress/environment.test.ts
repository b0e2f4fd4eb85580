import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts } from "../../../test/setup/egress-hosts.js";
import { egressEnvironment } from "./environment.js";

const RUNNERS = join(import.meta.dirname, "../../../guest/runners");
const hosts = new EgressHosts();
let http = 0;
let https = 0;
let local = 0;

beforeAll(async () => {
  http = await hosts.http((request, response) => response.end(`plain ${request.method} ${request.url}`));
  https = await hosts.https(
    (request, response) => response.end(`secure ${request.method} ${request.url}`),
    "api.example",
  );
  local = await hosts.listen(
    createServer((_, response) => response.end("local")),
    "127.0.0.1",
  );
  await hosts.open({ rules: allowing(["api.example"], onPorts(http, https)) });
});

afterAll(() => hosts.close());

function run(command: string, ...args: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...egressEnvironment({ port: hosts.port, guestRuntime: RUNNERS, caPath: hosts.caPath }),
  };
  return new Promise((resolve) => {
    execFile(command, args, { env, timeout: 120_000 }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

describe("the environment", () => {
  it("names the proxy in every spelling, never for loopback, and the certificates where there are some", () => {
    const proxy = "http://127.0.0.1:3128";
    expect(egressEnvironment()).toEqual({
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      HTTPS_PROXY: proxy,
      https_proxy: proxy,
      ALL_PROXY: proxy,
      all_proxy: proxy,
      NO_PROXY: "localhost,127.0.0.1,::1,0.0.0.0",
      no_proxy: "localhost,127.0.0.1,::1,0.0.0.0",
      NODE_USE_ENV_PROXY: "1",
      PIP_BREAK_SYSTEM_PACKAGES: "1",
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
    });
    expect(egressEnvironment({ isClosed: true })).toEqual({
      ...egressEnvironment(),
      PIP_RETRIES: "1",
      npm_config_fetch_retries: "0",
      CARGO_NET_RETRY: "0",
      SANDBOX_NETWORK: "none",
    });
    const more = egressEnvironment({ guestRuntime: "/opt/skerry", caPath: "/tmp/ca.pem" });
    expect(more).toMatchObject({
      NODE_OPTIONS: "--require /opt/skerry/javascript/programs/node-egress.cjs",
      SSL_CERT_FILE: "/tmp/ca.pem",
      NODE_EXTRA_CA_CERTS: "/tmp/ca.pem",
    });
  });

  it("makes fetch use the proxy", async () => {
    const program = `
      const ask = (url, init) => fetch(url, init).then((answer) => answer.text(), (error) => error.cause.message);
      (async () => {
        console.log(await ask("http://api.example:${http}/a"));
        console.log(await Promise.all([1, 2, 3].map((n) => ask("https://api.example:${https}/" + n))));
        console.log(await ask("https://api.example:${https}/b", { method: "POST", body: "x".repeat(300000) }));
        console.log(await ask("https://evil.test/"));
        console.log(await ask("http://127.0.0.1:${local}/"));
      })();`;
    expect(await run("node", "-e", program)).toBe(
      "plain GET /a\n[ 'secure GET /1', 'secure GET /2', 'secure GET /3' ]\nsecure POST /b\nevil.test is not allowed by rule allowedDomains\nlocal\n",
    );
  });

  it("makes http and https use the proxy", async () => {
    const program = `
      const http = require("http"), https = require("node:https");
      const ask = (client, url) => new Promise((done) => client.get(url, (answer) => {
        let text = ""; answer.on("data", (part) => (text += part)).on("end", () => done(text));
      }).on("error", (error) => done(error.message)));
      (async () => {
        console.log(await ask(http, "http://api.example:${http}/a"));
        console.log(await ask(https, "https://api.example:${https}/b"));
        console.log(await ask(https, "https://api.example:${https}/c"));
        console.log(await ask(https, "https://evil.test/"));
        console.log(await ask(http, "http://localhost:${local}/"));
      })();`;
    expect(await run("node", "-e", program)).toBe(
      "plain GET /a\nsecure GET /b\nsecure GET /c\nevil.test is not allowed by rule allowedDomains\nlocal\n",
    );
  });

  it.each(["main.mjs", "main.js"])(
    "makes ES modules and agents of their own use the proxy: %s",
    async (name) => {
      const folder = mkdtempSync(join(hosts.directory, "module-"));
      writeFileSync(join(folder, "package.json"), '{"type":"module"}');
      writeFileSync(
        join(folder, name),
        `import http from "node:http"; import { Agent, get } from "node:https";
      const ask = (get, url, options) => new Promise((done) => get(url, options, (answer) => {
        let text = ""; answer.on("data", (part) => (text += part)).on("end", () => done(text));
      }).on("error", (error) => done(error.message)));
      const agent = new Agent({ keepAlive: true });
      console.log(await ask(http.get, "http://api.example:${http}/a", {}));
      console.log(await ask(http.get, "http://api.example:${http}/b", { agent: new http.Agent() }));
      console.log(await ask(get, "https://api.example:${https}/c", { agent }));
      console.log(await ask(get, "https://api.example:${https}/d", { agent }));
      agent.destroy();`,
      );
      expect(await run("node", join(folder, name))).toBe(
        "plain GET /a\nplain GET /b\nsecure GET /c\nsecure GET /d\n",
      );
    },
  );

  it("loads nothing into a Node program that does not use it", async () => {
    const program =
      "console.log(process.moduleLoadList.filter((each) => /undici|_http|https|tls|NativeModule net$/.test(each)).join())";
    const plain = await new Promise((resolve) => {
      execFile("node", ["-e", program], { env: { PATH: process.env["PATH"] } }, (_, stdout) =>
        resolve(stdout),
      );
    });
    expect(await run("node", "-e", program)).toBe(plain);
  });

  it("makes Python and curl use the proxy", async () => {
    const program = `import urllib.request as u
print(u.urlopen("http://api.example:${http}/a").read().decode(), u.urlopen("https://api.example:${https}/b").read().decode())`;
    expect(await run("/usr/bin/python3", "-c", program)).toBe("plain GET /a secure GET /b\n");
    expect(await run("curl", "-sS", `https://api.example:${https}/c`)).toBe("secure GET /c");
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allowing, EgressHosts, onPorts, until } from "../../../../test/setup/egress-hosts.js";

const hosts = new EgressHosts();
let http = 0;
let https = 0;
let echo = 0;

beforeAll(async () => {
  http = await hosts.http((request, response) => {
    if (request.url === "/redirect") {
      response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
      return;
    }
    if (request.method === "POST") {
      let size = 0;
      request.on("data", (chunk) => {
        size += chunk.length;
      });
      request.on("end", () => response.end(`took ${size}`));
      return;
    }
    response.end(`${request.method} ${request.url} for ${request.headers.host}`);
  });
  https = await hosts.https((request, response) => response.end(`secure ${request.url}`), "api.example");
  echo = await hosts.tcp((socket) => {
    socket.write("hello\n");
    socket.pipe(socket);
  });
});

afterAll(() => hosts.close());

function rules(names = ["api.example", "*.files.example"]) {
  return allowing(names, onPorts(80, 443, http, https, echo));
}

beforeEach(() => hosts.open({ rules: rules() }));

describe("what is allowed", () => {
  it("passes a request of plain HTTP", async () => {
    const { stdout } = await hosts.curl(`http://api.example:${http}/path?query=1`);
    expect(stdout).toBe(`GET /path?query=1 for api.example:${http}`);
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({
      via: "http",
      host: "api.example",
      port: http,
      address: "127.0.0.2",
      method: "GET",
      path: "/path",
      verdict: "allowed",
      rule: "allow api.example",
    });
  });

  it("passes a body of known and of unknown length", async () => {
    const url = `http://api.example:${http}/`;
    expect((await hosts.curl("-d", "x".repeat(100_000), url)).stdout).toBe("took 100000");
    const chunked = await hosts.curl("-H", "transfer-encoding: chunked", "-d", "x".repeat(70_000), url);
    expect(chunked.stdout).toBe("took 70000");
    expect((await hosts.curl("-H", "expect: 100-continue", "-d", "abc", url)).stdout).toBe("took 3");
  });

  it("passes TLS in a tunnel", async () => {
    const { stdout, stderr } = await hosts.curl(
      "--cacert",
      hosts.caPath,
      `https://api.example:${https}/path`,
    );
    expect([stdout, stderr]).toEqual(["secure /path", ""]);
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({ via: "connect", host: "api.example", verdict: "allowed" });
  });

  it("passes HTTP and TLS over SOCKS, with names resolved here", async () => {
    const socks = ["--proxy", "", "--socks5-hostname", `127.0.0.1:${hosts.port}`];
    expect((await hosts.curl(...socks, `http://api.example:${http}/a`)).stdout).toBe(
      `GET /a for api.example:${http}`,
    );
    const secure = await hosts.curl(...socks, "--cacert", hosts.caPath, `https://a.files.example:${https}/b`);
    expect(secure.status).toBe(60);
    const fine = await hosts.curl(...socks, "--cacert", hosts.caPath, `https://api.example:${https}/b`);
    expect(fine.stdout).toBe("secure /b");
  });

  it("passes HTTP in a tunnel, request by request", async () => {
    const { stdout } = await hosts.curl(
      "-p",
      `http://api.example:${http}/one`,
      `http://api.example:${http}/two`,
    );
    expect(stdout).toBe(`GET /one for api.example:${http}GET /two for api.example:${http}`);
    await until(() => hosts.events.length === 2, "both are told");
    expect(hosts.events.map(({ via, path }) => [via, path])).toEqual([
      ["http", "/one"],
      ["http", "/two"],
    ]);
  });

  it("passes protocols in which the host speaks first, and half-closed connections", async () => {
    const socket = await hosts.dial();
    socket.write(`CONNECT api.example:${echo} HTTP/1.1\r\nHost: api.example:${echo}\r\n\r\n`);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await until(() => text.endsWith("\r\n\r\nhello\n"), "the host has spoken");
    socket.end("bye\n");
    await until(() => text.endsWith("hello\nbye\n"), "the rest came back after our end");
    await until(() => hosts.egress.open.clients === 0 && hosts.egress.open.routes === 0, "all is closed");
    expect(hosts.egress.totals).toEqual({ bytesSent: 4, bytesReceived: 10 });
    expect(hosts.events[0]).toMatchObject({ verdict: "allowed", bytesSent: 4, bytesReceived: 10 });
  });
});

describe("what is not allowed", () => {
  it("is told in one line, in the status, the body and the event", async () => {
    const { stdout } = await hosts.curl("-i", "http://evil.example/");
    const why = "evil.example is not allowed by rule allowedDomains";
    expect(stdout).toContain(`HTTP/1.1 403 ${why}\r\n`);
    expect(stdout).toContain("x-skerry-egress: denied\r\n");
    expect(stdout).toMatch(new RegExp(`\r\n\r\n${why}\n$`));
    expect(hosts.events).toMatchObject([
      { host: "evil.example", verdict: "denied", why, method: "GET", path: "/" },
    ]);
    expect(hosts.egress.takeDenials()).toEqual([why]);
    expect(hosts.egress.takeDenials()).toEqual([]);
  });

  it("is refused for tunnels and SOCKS", async () => {
    const connect = await hosts.curl("https://evil.example/");
    expect([connect.status, connect.stderr]).toEqual([56, expect.stringContaining("response 403")]);
    const socks = await hosts.curl(
      "--proxy",
      "",
      "--socks5-hostname",
      `127.0.0.1:${hosts.port}`,
      "https://evil.example/",
    );
    expect(socks.stderr).toContain("(2)");
    expect(hosts.events.map(({ via, verdict }) => [via, verdict])).toEqual([
      ["connect", "denied"],
      ["socks", "denied"],
    ]);
  });
});

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { requires } from "../../../../../test/setup/requires.js";
import { chooseSocket, connectDocker, explainDockerFailure, findDocker, usualSockets } from "./connect.js";

const directory = temporaryDirectory();
const servers: { close(): unknown }[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) server.close();
});

/** What a daemon answers to a ping, and to nothing else. */
const pong: RequestListener = (request, response) => {
  response.writeHead(request.url === "/_ping" ? 200 : 404).end("OK");
};

async function listen<T extends Server>(server: T, at: string | number): Promise<T> {
  servers.push(server);
  server.listen(at);
  await once(server, "listening");
  return server;
}

async function ping(options: Parameters<typeof connectDocker>[0]): Promise<string> {
  const docker = await connectDocker(options);
  return docker.ping().then(String, (error) => {
    throw explainDockerFailure(error);
  });
}

describe("findDocker", () => {
  it.each([
    [
      "the configured host",
      { host: "unix:///a", env: { DOCKER_HOST: "unix:///b" } },
      "unix:///a",
      true,
      "backends.docker.host",
    ],
    ["DOCKER_HOST", { env: { DOCKER_HOST: "tcp://b:1" } }, "tcp://b:1", false, "DOCKER_HOST"],
    ["a DOCKER_HOST without a scheme", { env: { DOCKER_HOST: "b:1" } }, "tcp://b:1", false, "DOCKER_HOST"],
    ["a host over ssh", { host: "ssh://me@b", env: {} }, "ssh://me@b", false, "backends.docker.host"],
  ])("takes %s", (_, options, host, local, from) => {
    expect(findDocker(options)).toEqual({ host, local, from });
  });

  it("ignores an empty DOCKER_HOST", () => {
    expect(findDocker({ env: { DOCKER_HOST: "" } })).toEqual(findDocker({ env: {} }));
  });
});

describe("chooseSocket", () => {
  it("looks for Docker before Podman, and for the system's before the user's own", () => {
    const system = ["/var/run/docker.sock", "/run/podman/podman.sock"];
    expect(usualSockets({})).toEqual(system);
    // Not under the root directory, or wherever the process happens to be.
    expect(usualSockets({ XDG_RUNTIME_DIR: "" })).toEqual(system);
    expect(usualSockets({ XDG_RUNTIME_DIR: "/run/user/7" })).toEqual([
      "/var/run/docker.sock",
      "/run/user/7/docker.sock",
      "/run/podman/podman.sock",
      "/run/user/7/podman/podman.sock",
    ]);
  });

  it("takes the first that is a socket, and the first of all when none is", async () => {
    const [file, socket] = [join(directory, "file"), join(directory, "choice.sock")];
    writeFileSync(file, "");
    const server = createSocketServer();
    servers.push(server);
    server.listen(socket);
    await once(server, "listening");
    const missing = join(directory, "missing");
    expect(chooseSocket([missing, file, socket])).toBe(socket);
    expect(chooseSocket([missing, file])).toBe(missing);
  });
});

describe("connectDocker", () => {
  it("reaches a socket, whatever DOCKER_HOST says", async () => {
    vi.stubEnv("DOCKER_HOST", "tcp://nowhere.invalid:1");
    vi.stubEnv("DOCKER_TLS_VERIFY", "1");
    const path = join(directory, "d.sock");
    await listen(createServer(pong), path);
    expect(await ping({ host: `unix://${path}` })).toBe("OK");
  });

  it("reaches a tcp address", async () => {
    const { port } = (await listen(createServer(pong), 0)).address() as AddressInfo;
    expect(await ping({ host: `tcp://localhost:${port}`, env: {} })).toBe("OK");
  });

  it.each(["nonsense://x", "tcp://", "npipe:////./pipe/docker_engine", "ssh://"])(
    "refuses %s",
    async (host) => {
      await expect(connectDocker({ host, env: {} })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    },
  );

  it("says which certificate is missing", async () => {
    const env = { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: directory };
    await expect(connectDocker({ host: "tcp://localhost:1", env })).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: "the Docker client's ca.pem cannot be read",
    });
  });
});

requires("openssl").describe("a daemon with certificates", () => {
  /** A directory as DOCKER_CERT_PATH names it; the certificate is its own authority, for "localhost". */
  function makeCertificates(name: string): string {
    const place = join(directory, name);
    mkdirSync(place);
    const [key, cert] = [join(place, "key.pem"), join(place, "cert.pem")];
    execFileSync(
      "openssl",
      [
        ...[
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-nodes",
          "-days",
          "2",
        ],
        ...[
          "-subj",
          "/CN=localhost",
          "-addext",
          "subjectAltName=DNS:localhost",
          "-keyout",
          key,
          "-out",
          cert,
        ],
      ],
      { stdio: "ignore" },
    );
    writeFileSync(join(place, "ca.pem"), readFileSync(cert));
    return place;
  }

  it("is reached when both trust each other, and refused when we do not trust it", async () => {
    const [good, other] = [makeCertificates("good"), makeCertificates("other")];
    const read = (name: string) => readFileSync(join(good, name));
    const server = createTlsServer(
      { key: read("key.pem"), cert: read("cert.pem"), ca: read("ca.pem"), requestCert: true },
      pong,
    );
    const { port } = (await listen(server, 0)).address() as AddressInfo;
    const host = `tcp://localhost:${port}`;
    expect(await ping({ host, env: { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: good } })).toBe("OK");
    // Docker's own client would connect without checking.
    await expect(ping({ host, env: { DOCKER_CERT_PATH: other } })).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: expect.stringContaining("cannot be trusted"),
    });
  });
});

describe("a daemon behind ssh", () => {
  /** Puts a program in the place of ssh: everything but the encryption is as it would be. */
  function installSsh(body: string): string {
    const place = mkdtempSync(join(directory, "ssh-"));
    const said = join(place, "arguments");
    writeFileSync(join(place, "ssh"), `#!/bin/sh\necho "$*" >'${said}'\n${body}\n`);
    chmodSync(join(place, "ssh"), 0o755);
    vi.stubEnv("PATH", `${place}:${process.env.PATH}`);
    return said;
  }

  it("is reached by the system's ssh", async () => {
    const path = join(directory, "far.sock");
    await listen(createServer(pong), path);
    const bridge = `const s=require("net").connect(${JSON.stringify(path)});process.stdin.pipe(s).pipe(process.stdout)`;
    const said = installSsh(`exec '${process.execPath}' -e '${bridge}'`);
    expect(await ping({ host: "ssh://me@far:2222", env: {} })).toBe("OK");
    expect(readFileSync(said, "utf8")).toBe(
      "-o BatchMode=yes -o ConnectTimeout=15 -T -p 2222 -l me -- far docker system dial-stdio\n",
    );
  });

  it("is not reached when ssh refuses, and what ssh says is told", async () => {
    installSsh("echo 'Host key verification failed.' >&2; exit 255");
    await expect(ping({ host: "ssh://far", env: {} })).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message:
        "the Docker daemon cannot be reached over ssh at ssh://far (backends.docker.host): Host key verification failed.",
    });
  });
});

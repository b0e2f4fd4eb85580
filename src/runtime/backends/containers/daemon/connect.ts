import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { SandboxError, systemCode } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import { type DockerAddress, rememberAddress } from "./address.js";

export { explainDockerFailure, missingImage } from "./explain-failure.js";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ConnectOptions {
  /** As in DOCKER_HOST, which it goes before. */
  readonly host?: string | undefined;
  readonly env?: Environment;
}

const USUAL_SOCKET = "/var/run/docker.sock";

/** Finds the daemon: the configured host, DOCKER_HOST, Docker's socket, then the user's own and Podman's. */
export function findDocker({ host, env = process.env }: ConnectOptions = {}): DockerAddress {
  const given = host ?? env.DOCKER_HOST;
  if (given !== undefined && given !== "") {
    // "host:2375" is a tcp address to Docker's own client.
    const address = given.includes("://") ? given : `tcp://${given}`;
    const from = host === undefined ? "DOCKER_HOST" : "backends.docker.host";
    return { host: address, local: address.startsWith("unix://"), from };
  }
  const path = chooseSocket(usualSockets(env));
  return { host: `unix://${path}`, local: true };
}

/** Best first: Docker's before Podman's, and of each the system's before the user's own. */
export function usualSockets({ XDG_RUNTIME_DIR: own }: Environment): string[] {
  return [
    USUAL_SOCKET,
    ...(own ? [join(own, "docker.sock")] : []),
    "/run/podman/podman.sock",
    ...(own ? [join(own, "podman/podman.sock")] : []),
  ];
}

/** The first socket that we may use, else the first that is there, else the first. */
export function chooseSocket(paths: readonly string[]): string {
  const sockets = paths.filter(isSocket);
  return sockets.find(isWritable) ?? sockets[0] ?? paths[0]!;
}

/** A client of the daemon that `findDocker` finds. Sends nothing yet. */
export async function connectDocker(options: ConnectOptions = {}): Promise<Docker> {
  const address = findDocker(options);
  const settings = await connectionOf(address, options.env ?? process.env);
  const Client = await loadDockerode();
  const docker = new Client(settings);
  rememberAddress(docker, address);
  return docker;
}

async function loadDockerode(): Promise<typeof Docker> {
  try {
    return (await import("dockerode")).default;
  } catch (cause) {
    throw new SandboxError("BACKEND_UNAVAILABLE", "the package dockerode is not installed", {
      hint: "Install it where skerry is installed: npm install dockerode",
      cause,
    });
  }
}

/** The options of dockerode, with every key: it would take a missing one from DOCKER_HOST. */
async function connectionOf(address: DockerAddress, env: Environment): Promise<Docker.DockerOptions> {
  const { host } = address;
  const nothing = { host: undefined, port: undefined, socketPath: undefined, username: undefined };
  const tls = { ca: undefined, cert: undefined, key: undefined };
  const settings = await (async () => {
    if (host.startsWith("unix://")) {
      return { ...nothing, ...tls, protocol: "http", socketPath: host.slice("unix://".length) };
    }
    const { protocol, hostname, port, username } = parseAddress(address);
    if (protocol === "ssh:") {
      const { createSshAgent } = await import("./ssh-agent.js");
      const agent = createSshAgent({ hostname, port, username });
      return { ...nothing, ...tls, protocol: "http", host: "docker", port: 80, agent };
    }
    // Unlike Docker's client we refuse certificates without "verify": the peer could be anyone.
    const secure = protocol === "https:" || Boolean(env.DOCKER_TLS_VERIFY) || Boolean(env.DOCKER_CERT_PATH);
    const name = hostname.replace(/^\[|\]$/g, "");
    const at = { ...nothing, host: name, port: Number(port || (secure ? 2376 : 2375)) };
    if (protocol === "http:" || !secure) return { ...at, ...tls, protocol: "http" };
    return { ...at, ...readCertificates(env), protocol: "https" };
  })();
  return settings as unknown as Docker.DockerOptions;
}

function parseAddress({ host, from }: DockerAddress): URL {
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (
    url !== undefined &&
    ["tcp:", "http:", "https:", "ssh:"].includes(url.protocol) &&
    url.hostname !== ""
  ) {
    return url;
  }
  throw new SandboxError(
    "CONFIG_INVALID",
    `${from} is not the address of a Docker daemon: ${escapeUnsafe(JSON.stringify(host)).slice(0, 200)}`,
    { hint: 'Expected "unix:///run/docker.sock", "tcp://host:2376" or "ssh://user@host".' },
  );
}

function readCertificates(env: Environment): { ca: Buffer; cert: Buffer; key: Buffer } {
  const directory = env.DOCKER_CERT_PATH || join(env.HOME ?? homedir(), ".docker");
  const read = (name: string) => {
    try {
      return readFileSync(join(directory, name));
    } catch (cause) {
      throw new SandboxError("BACKEND_UNAVAILABLE", `the Docker client's ${name} cannot be read`, {
        hint: "DOCKER_CERT_PATH names the directory with ca.pem, cert.pem and key.pem.",
        cause,
      });
    }
  };
  return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return false;
  }
}

import type Docker from "dockerode";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";

/** Where the daemon is. */
export interface DockerAddress {
  /** As in DOCKER_HOST: "unix:///run/docker.sock". */
  readonly host: string;
  /** A socket of this machine: the daemon may see our files. */
  readonly local: boolean;
  /** The setting that gave it; undefined: it was found at its usual path. */
  readonly from?: "DOCKER_HOST" | "backends.docker.host";
}

const SYSTEM_SOCKETS = ["unix:///var/run/docker.sock", "unix:///run/docker.sock"];

/** The daemon that the system starts, with its configuration below /etc. */
export function isSystemDaemon({ host }: DockerAddress): boolean {
  return SYSTEM_SOCKETS.includes(host);
}

/** " at tcp://host:2375 (DOCKER_HOST)", for a message; nothing where it is not known. */
export function describeAddress(address: DockerAddress | undefined): string {
  if (address === undefined) return "";
  const { host, from } = address;
  return ` at ${escapeUnsafe(host).slice(0, 200)}${from === undefined ? "" : ` (${from})`}`;
}

const clients = new WeakMap<object, DockerAddress>();
const failures = new WeakMap<object, DockerAddress>();

/** Has the client's failures tell where they happened. */
export function rememberAddress(docker: Docker, address: DockerAddress): void {
  clients.set(docker, address);
  const { modem } = docker as unknown as { modem: Modem };
  const dial = modem.dial.bind(modem);
  modem.dial = (options, answered) =>
    dial(options, (error, answer) => {
      if (typeof error === "object" && error !== null) failures.set(error, address);
      answered(error, answer);
    });
}

/** Of a client or of a failure. */
export function addressOf(what: unknown): DockerAddress | undefined {
  if (typeof what !== "object" || what === null) return undefined;
  return clients.get(what) ?? failures.get(what);
}

/** What of dockerode every call goes through. */
interface Modem {
  dial(options: unknown, answered: (error: unknown, answer: unknown) => void): unknown;
}

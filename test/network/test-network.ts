import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { getBackend, listBackends } from "../../src/backend.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { startDocker } from "../setup/docker.js";
import { ADDRESSES, PUBLIC_V6, RESOLVER } from "./addresses.js";
import type { NetworkNamespace } from "./network-namespace.js";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export interface Question {
  readonly id: number;
  readonly method: keyof NetworkNamespace;
  readonly args: readonly unknown[];
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

type Methods = {
  [K in keyof NetworkNamespace]: (
    ...args: Parameters<NetworkNamespace[K]>
  ) => Promise<Awaited<ReturnType<NetworkNamespace[K]>>>;
};

/**
 * Loopback is its only interface; names are resolved by its own server. The addresses of its hosts lead here without being
 * this machine's own, which egress refuses.
 */
const ENTER = `set -e
ip link set lo up
for address in ${ADDRESSES.join(" ")}; do ip route add local "$address/32" dev lo; done
ip -6 route add local ${PUBLIC_V6}/128 dev lo
for name in resolv.conf hosts nsswitch.conf; do mount --bind "$1/etc/$name" "/etc/$name"; done
shift
exec "$@"`;

/** A network of its own for one test file, where every host is ours. Nothing of it is left when its process ends. */
export class TestNetwork {
  readonly inside: Methods;
  /** PEM of the authority that signed the certificates of its hosts. */
  ca = "";
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #directory: string | undefined;
  #child: ChildProcess | undefined;
  #complaints = "";
  #lastId = 0;

  constructor() {
    const ask =
      (method: keyof NetworkNamespace) =>
      (...args: unknown[]) =>
        this.#ask(method, args);
    this.inside = new Proxy({} as Methods, { get: (_, method) => ask(method as keyof NetworkNamespace) });
  }

  /** Everything that it keeps. */
  get directory(): string {
    if (this.#directory === undefined) throw new Error("the test network has not started");
    return this.#directory;
  }

  /** Begins, with variables for its process. */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#directory = mkdtempSync("/tmp/skerry-network-");
    chmodSync(this.#directory, 0o755);
    const code = join(this.directory, "code");
    await compile(code);
    const etc = join(this.directory, "etc");
    mkdirSync(etc);
    writeFileSync(join(etc, "resolv.conf"), `nameserver ${RESOLVER}\noptions timeout:2 attempts:1\n`);
    writeFileSync(join(etc, "hosts"), "127.0.0.1 localhost\n::1 localhost\n");
    writeFileSync(join(etc, "nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
    const temporary = join(this.directory, "tmp");
    mkdirSync(temporary);
    const program = [process.execPath, join(code, "test/network/test-network-process.js"), this.directory];
    const child = spawn(
      "unshare",
      ["--net", "--mount", "sh", "-c", ENTER, "sh", this.directory, ...program],
      {
        cwd: this.directory,
        env: {
          PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          HOME: temporary,
          TMPDIR: temporary,
          ...environment,
        },
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        serialization: "advanced",
      },
    );
    this.#child = child;
    child.stderr!.on("data", (chunk) => {
      this.#complaints += chunk;
    });
    child.once("exit", () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the test network ended: ${this.#complaints}`));
      this.#waiting.clear();
    });
    const ready = new Promise((resolve, reject) => this.#waiting.set(0, { resolve, reject }));
    child.on("message", ({ id, value, error }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
    await ready;
    ({ ca: this.ca } = await this.inside.start());
  }

  /** Begins, with the test run's Docker daemon in reach of the backends docker and gvisor. */
  async startWithDocker(): Promise<void> {
    const { host } = await startDocker();
    await this.start({ DOCKER_HOST: host });
  }

  /** What its process complained about. */
  get complaints(): string {
    return this.#complaints;
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const gone = once(child, "exit");
      child.disconnect();
      await gone;
    }
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }

  #ask(method: keyof NetworkNamespace, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child!.send({ id, method, args } satisfies Question, (error) => {
        if (error !== null && this.#waiting.delete(id)) reject(error);
      });
    });
  }
}

/** They need a daemon, which a test starts when it runs: `TestNetwork.startWithDocker`. */
const CONTAINERS: readonly string[] = ["docker", "gvisor"];

/** The backends of this host that say they tell hosts apart, by their own words. */
export async function perHostBackends(): Promise<string[]> {
  const names = listBackends().filter((name) => !CONTAINERS.includes(name));
  const stateDir = temporaryDirectory();
  const claims = await Promise.all(
    names.map(async (name) => {
      const backend = await getBackend(name, { stateDir, options: undefined });
      const { available, capabilities } = await backend.probe();
      return available && capabilities.network === "per-host" ? [name] : [];
    }),
  );
  return claims.flat();
}

/** The package as plain JavaScript, for a process that Vitest has no hand in. */
async function compile(to: string): Promise<void> {
  const sources = ["src", "test/network", "test/setup"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .map((path) => join(ROOT, folder, path)),
  );
  await build({
    entryPoints: sources,
    outdir: to,
    outbase: ROOT,
    format: "esm",
    platform: "node",
    target: "node20",
  });
  writeFileSync(join(to, "package.json"), '{ "type": "module" }');
  cpSync(join(ROOT, "prebuilt"), join(to, "prebuilt"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(to, "node_modules"));
}

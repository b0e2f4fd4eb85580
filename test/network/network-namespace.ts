import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type AuditRecord, createCallbackSink, createFileSink } from "../../src/audit.js";
import { AuditLogger, parseConfig, SandboxManager } from "../../src/index.js";
import type { SecretOptions } from "../../src/manager.js";
import { EgressHosts } from "../setup/egress-hosts.js";
import { DnsServer } from "./dns-server.js";
import { Origins, type Visit } from "./origin-servers.js";
import { Packages } from "./packages.js";

export interface Order {
  readonly backend: string;
  /** `sandbox.network` of its configuration. */
  readonly network: Readonly<Record<string, unknown>>;
  readonly secrets?: readonly SecretOptions[];
}

export interface ExecOutcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly denied: readonly string[];
  readonly ms: number;
}

/** What the servers of the test network saw since they were last asked. */
export interface NetworkTraffic {
  readonly visits: readonly Visit[];
  readonly questions: readonly string[];
  readonly authorizations: readonly string[];
  /** Records of the audit log about the network. */
  readonly records: readonly AuditRecord[];
}

interface ManagerEntry {
  readonly manager: SandboxManager;
  readonly audit: AuditLogger;
  readonly records: AuditRecord[];
}

/** Abstract, so a matter of the network namespace; the attacks look for it. */
export const ABSTRACT_SOCKET = "skerry-network-test-abstract";

/** Everything inside the test network: its servers, and the managers whose sandboxes try to reach them. */
export class NetworkNamespace {
  readonly #directory: string;
  readonly #hosts = new EgressHosts();
  readonly #dns = new DnsServer();
  readonly #origins: Origins;
  readonly #abstract = createServer((socket) => socket.end("reached"));
  readonly #managers = new Map<string, ManagerEntry>();

  constructor(directory: string) {
    this.#directory = directory;
    this.#origins = new Origins(new Packages(directory), this.#hosts);
    const stateDir = join(directory, "state");
    mkdirSync(stateDir);
    chmodSync(stateDir, 0o711);
  }

  async start(): Promise<{ readonly ca: string }> {
    await this.#dns.start();
    await this.#origins.start();
    this.#abstract.listen(`\0${ABSTRACT_SOCKET}`);
    await once(this.#abstract, "listening");
    return { ca: this.#hosts.ca };
  }

  /** Makes a manager under a name, with rules and an audit log of its own. */
  async open(name: string, { backend, network, secrets }: Order): Promise<void> {
    const config = await parseConfig({
      sandbox: {
        network: { upstreamCa: this.#hosts.caPath, ...network },
        // The daemon runs outside, and does not see what is mounted in this namespace.
        backends: { docker: { shareFiles: "never" } },
      },
    });
    const records: AuditRecord[] = [];
    const remember = createCallbackSink((record) => void records.push(record));
    const audit = new AuditLogger({
      sinks: [remember, createFileSink(join(this.#directory, `audit-${name}.jsonl`))],
    });
    const manager = new SandboxManager({
      config,
      backend,
      audit,
      stateDir: join(this.#directory, "state"),
      handleSignals: false,
      ...(secrets !== undefined && { secrets }),
    });
    this.#managers.set(name, { manager, audit, records });
  }

  async exec(
    name: string,
    session: string,
    argv: readonly string[],
    env = {},
    timeoutMs = 30_000,
  ): Promise<ExecOutcome> {
    const sandbox = await this.#of(name).manager.startSandbox(session);
    const started = performance.now();
    const { exitCode, stdout, stderr, network } = await sandbox.exec([...argv], { env, timeoutMs });
    return { exitCode, stdout, stderr, denied: network?.denied ?? [], ms: performance.now() - started };
  }

  async python(name: string, session: string, code: string): Promise<ExecOutcome> {
    const sandbox = await this.#of(name).manager.startSandbox(session);
    const started = performance.now();
    const run = sandbox.runCode(code, { language: "python", timeoutMs: 30_000 });
    const { exitCode, stdout, stderr, network } = await run;
    return { exitCode, stdout, stderr, denied: network?.denied ?? [], ms: performance.now() - started };
  }

  /** The same program in the test network without a sandbox, to show that it would find what it looks for. */
  async pythonOutside(code: string): Promise<string> {
    const child = spawn("/usr/bin/python3", ["-c", code], { stdio: ["ignore", "pipe", "inherit"] });
    const [printed] = await Promise.all([text(child.stdout), once(child, "close")]);
    return printed;
  }

  async putFile(name: string, session: string, path: string, contents: Uint8Array | string): Promise<void> {
    const sandbox = await this.#of(name).manager.startSandbox(session);
    await sandbox.files.write(path, contents);
  }

  expectSecret(value: string): void {
    this.#origins.secret = value;
  }

  /** What was seen since this was last asked. */
  async look(name: string): Promise<NetworkTraffic> {
    const { audit, records } = this.#of(name);
    await audit.flush();
    const network = records.splice(0).filter(({ event_type: type }) => type === "network");
    const { questions } = this.#dns;
    this.#dns.forget();
    return {
      visits: this.#origins.takeVisits(),
      authorizations: this.#origins.takeAuthorizations(),
      questions,
      records: network,
    };
  }

  /** How many connections the servers have open. */
  connections(): number {
    return this.#origins.open;
  }

  async close(name: string): Promise<void> {
    const { manager, audit } = this.#of(name);
    this.#managers.delete(name);
    await manager.close();
    await audit.close();
  }

  async end(): Promise<void> {
    for (const name of [...this.#managers.keys()]) await this.close(name);
    this.#origins.close();
    this.#abstract.close();
    this.#dns.close();
    await this.#hosts.close();
  }

  #of(name: string): ManagerEntry {
    const found = this.#managers.get(name);
    if (found === undefined) throw new Error(`no manager is open as ${name}`);
    return found;
  }
}

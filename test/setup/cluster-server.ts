import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditQuery, type AuditRecord, queryAudit } from "../../src/guard/audit/index.js";
import { createUser, type User } from "../e2e/run-skerry.js";
import { type ServerProcess, spawnServer, startServer } from "./server-process.js";

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
type Body = any;

/** A server in a process of its own, on a database that others use too. Its state directory outlives its runs. */
export class ClusterServer {
  readonly user: User = createUser();
  #served: ServerProcess | undefined;
  #args: string[] = [];

  /** Starts it, again after it has ended, with what was said before unless there is something else. */
  async start(options?: {
    readonly store: string;
    readonly lease: string;
    readonly policy?: string;
  }): Promise<void> {
    const isFirst = this.#args.length === 0;
    if (options !== undefined) {
      const { store, lease, policy } = options;
      const config = { server: { store, lease, stopDeadline: "1s" } };
      writeFileSync(join(this.user.home, "config.json"), JSON.stringify(config));
      this.#args = ["--config", "config.json"];
      if (policy !== undefined) {
        writeFileSync(join(this.user.home, "policy.yaml"), policy);
        this.#args.push("--policy", "policy.yaml");
      }
    }
    this.#served = isFirst
      ? await startServer(this.user, this.#args)
      : await spawnServer(this.user, this.#args).listening;
  }

  get served(): ServerProcess {
    return this.#served!;
  }

  get url(): string {
    return this.served.url;
  }

  /** Sends a signal; resolves to how it ended. */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.served.kill(signal);
    return this.served.ended;
  }

  async call(
    key: string,
    method: string,
    path: string,
    json?: unknown,
  ): Promise<{ status: number; headers: Headers; body: Body }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(json !== undefined && { "content-type": "application/json" }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith("{") ? JSON.parse(text) : text,
    };
  }

  run(key: string, session: string, command: string) {
    return this.call(key, "POST", `/v1/sessions/${session}/execute`, { command });
  }

  /** The records of its own log. */
  async records(query: AuditQuery = {}): Promise<AuditRecord[]> {
    const found: AuditRecord[] = [];
    for await (const record of queryAudit(join(this.user.home, "state", "audit"), query)) found.push(record);
    return found;
  }

  /** The directories of sessions on its host. */
  directories(): string[] {
    return readdirSync(join(this.user.home, "state", "sessions"));
  }

  /** Kills it, and removes what it had. */
  async remove(): Promise<void> {
    if (this.#served !== undefined) {
      // One that is stopped does not die of anything else.
      await this.end("SIGKILL");
      this.user.skerry(["exec", "--", "true"]);
    }
  }
}

/** Events of a program, as far as they come. */
export async function openEvents(
  { url }: ClusterServer,
  key: string,
  session: string,
  command: string,
): Promise<{ text(): string; readonly over: Promise<"ended" | "cut"> }> {
  const response = await fetch(`${url}/v1/sessions/${session}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command }),
  });
  let text = "";
  const over = (async () => {
    try {
      for await (const piece of response.body!) text += Buffer.from(piece).toString("utf8");
      return "ended" as const;
    } catch {
      return "cut" as const;
    }
  })();
  return { text: () => text, over };
}

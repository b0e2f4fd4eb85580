import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BenchContext } from "./bench-context.js";

/** `skerry serve` in a process of its own, and connections to it that stay open. */
export class ServerProcess implements AsyncDisposable {
  readonly url: URL;
  readonly #pid: number;
  readonly #key: string;
  readonly #stop: () => Promise<void>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  private constructor(url: string, key: string, pid: number, stop: () => Promise<void>) {
    this.url = new URL(url);
    this.#key = key;
    this.#pid = pid;
    this.#stop = stop;
  }

  /** Starts it with a state directory of its own, and without a limit that would be measured instead. */
  static async start(bench: BenchContext): Promise<ServerProcess> {
    const child = spawn(join(bench.repository, "skerry"), ["serve", "--port", "0", "--json"], {
      env: {
        ...bench.env,
        SKERRY_STATE_DIR: join(bench.directory, "served"),
        SKERRY_SERVER__LIMITS__REQUESTS_PER_MINUTE: "1000000",
      },
      cwd: bench.directory,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    child.stderr.on("data", (data: Buffer) => {
      // It tells of every request; only the end of that is worth anything.
      log = (log + data.toString("utf8")).slice(-4000);
    });
    const ended = once(child, "exit");
    const line = await Promise.race([
      once(createInterface(child.stdout), "line"),
      ended.then(() => {
        throw new Error(`skerry serve ended: ${log}`);
      }),
    ]);
    const { url, key } = JSON.parse(String(line[0])) as { url: string; key: string };
    return new ServerProcess(url, key, child.pid!, async () => {
      child.kill("SIGTERM");
      await ended;
    });
  }

  /** What the process has in memory now. */
  get residentBytes(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
  }

  /** Runs a program in a session; anything but this output is an error. */
  async runPython(session: string, code: string, stdout: string): Promise<void> {
    const body = JSON.stringify({ language: "python", code });
    const { status, text } = await this.#post(`/v1/sessions/${session}/execute`, body);
    if (status !== 200 || (JSON.parse(text) as { stdout?: unknown }).stdout !== stdout)
      throw new Error(`the server answered ${status}: ${text.slice(0, 500)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#stop();
  }

  #post(path: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#key}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      const sent = request(new URL(path, this.url), { method: "POST", agent: this.#agent, headers });
      sent.once("error", reject);
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (data: string) => {
          text += data;
        });
        response.once("error", reject);
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.end(body);
    });
  }
}

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Config, parseConfig, SandboxManager, type SandboxManagerOptions } from "skerry";

/** The interpreter that runs inside, not one that a version manager put first in the path. */
export const PYTHON = "/usr/bin/python3";

export interface ProcessOptions {
  /** Other than the small environment that every baseline gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it must print; anything else is an error, so that a broken run is never a fast one. */
  readonly stdout?: string;
}

/** Everything an entry uses: managers and processes that are gone afterwards, and a directory of its own. */
export class BenchContext {
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** True: a quick look with few rounds. */
  readonly quick: boolean;
  readonly directory: string;
  readonly #managers = new Set<SandboxManager>();
  readonly #onProgress: (done: number, total: number) => void;

  private constructor(directory: string, options: BenchContextOptions) {
    this.directory = directory;
    this.signal = options.signal;
    this.quick = options.quick;
    this.#onProgress = options.onProgress;
  }

  static async open(options: BenchContextOptions): Promise<BenchContext> {
    const directory = await mkdtemp(join(tmpdir(), "bench-skerry-"));
    // The users that sandboxes run as must be able to pass through.
    await chmod(directory, 0o711);
    return new BenchContext(directory, options);
  }

  /** How many rounds to take. */
  rounds(full: number): number {
    return this.quick ? Math.max(2, Math.ceil(full / 10)) : full;
  }

  progress(done: number, total: number): void {
    this.#onProgress(done, total);
  }

  /** The repository that this benchmark was built in. */
  get repository(): string {
    return findRepository();
  }

  /** Where this run's sandboxes are kept. */
  get stateDir(): string {
    return join(this.directory, "state");
  }

  manager(options: SandboxManagerOptions = {}): SandboxManager {
    const manager = new SandboxManager({ stateDir: this.stateDir, handleSignals: false, ...options });
    this.#managers.add(manager);
    return manager;
  }

  config(sandbox: Record<string, unknown>): Promise<Config> {
    return parseConfig({ sandbox }, "benchmark");
  }

  /** The small environment of every bare process. */
  get env(): Record<string, string> {
    const path = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
    return { PATH: path, HOME: this.directory, LANG: "C.UTF-8" };
  }

  /** Runs a process to its end, as a program on Node does, and reads its output. Throws when it fails. */
  async run(command: string, args: readonly string[], options: ProcessOptions = {}): Promise<void> {
    const child = spawn(command, args, {
      env: options.env ?? this.env,
      cwd: this.directory,
      stdio: ["ignore", "pipe", "pipe"],
      signal: this.signal,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => {
      stdout += data.toString("utf8");
    });
    child.stderr.on("data", (data: Buffer) => {
      stderr += data.toString("utf8");
    });
    const ending = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(code === 0 ? "" : (signal ?? `status ${code}`)));
    });
    if (ending !== "") throw new Error(`${command} ended with ${ending}: ${stderr.trim().slice(-2000)}`);
    if (options.stdout !== undefined && stdout !== options.stdout) {
      throw new Error(`${command} printed ${JSON.stringify(stdout.slice(0, 200))}`);
    }
  }

  /** Stops every sandbox and removes every file. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#managers].map((manager) => manager.close()));
    await rm(this.directory, { recursive: true, force: true });
  }
}

export interface BenchContextOptions {
  readonly signal: AbortSignal;
  readonly quick: boolean;
  readonly onProgress: (done: number, total: number) => void;
}

/** The directory above us that has the launcher. */
function findRepository(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, "package.json"))) {
    const above = dirname(directory);
    if (above === directory) throw new Error("the benchmark runs in a clone of the repository only");
    directory = above;
  }
  return directory;
}

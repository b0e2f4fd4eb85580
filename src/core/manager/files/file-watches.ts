import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import { type FileWatch, PollingWatch, type WatchedDirectory } from "./file-watch.js";

/** Watches of one session at once. */
const MAX_PER_SESSION = 16;

/** The watches of each session's files. */
export class FileWatches {
  readonly #watches = new Map<string, Set<PollingWatch>>();
  /** Of each session, those on their way included. */
  readonly #counts = new Map<string, number>();
  #size = 0;

  constructor(private readonly find: (session: string) => RunningSandbox | undefined) {}

  /** Makes one of what `open` finds. SANDBOX_BUSY: the session has too many. */
  async open(
    session: string,
    signal: AbortSignal | undefined,
    open: () => Promise<WatchedDirectory>,
  ): Promise<FileWatch> {
    const count = this.#counts.get(session) ?? 0;
    if (count >= MAX_PER_SESSION) throw tooMany();
    this.#counts.set(session, count + 1);
    try {
      const directory = await open();
      const watch: PollingWatch = new PollingWatch({
        ...directory,
        signal,
        find: () => this.find(session),
        watchers: () => this.#size,
        onClosed: () => this.#forget(session, watch),
      });
      this.#watches.set(session, (this.#watches.get(session) ?? new Set()).add(watch));
      this.#size++;
      if (signal?.aborted === true) watch.close();
      return watch;
    } catch (error) {
      this.#uncount(session);
      throw error;
    }
  }

  /** A call of the session has ended: its watches look soon. */
  nudge(session: string): void {
    for (const watch of this.#watches.get(session) ?? []) watch.nudge();
  }

  /** The session is gone, and so is what was watched. */
  end(session: string, why = "The session has ended"): void {
    for (const watch of this.#watches.get(session) ?? []) watch.end(why);
  }

  close(): void {
    for (const session of this.#watches.keys()) this.end(session, "The manager was closed");
  }

  #forget(session: string, watch: PollingWatch): void {
    const watches = this.#watches.get(session);
    if (watches?.delete(watch) !== true) return;
    this.#size--;
    if (watches.size === 0) this.#watches.delete(session);
    this.#uncount(session);
  }

  #uncount(session: string): void {
    const left = (this.#counts.get(session) ?? 1) - 1;
    if (left === 0) this.#counts.delete(session);
    else this.#counts.set(session, left);
  }
}

function tooMany(): SandboxError {
  return new SandboxError(
    "SANDBOX_BUSY",
    `This session has ${MAX_PER_SESSION} file watches, which is the most`,
    {
      hint: "End one of them.",
    },
  );
}

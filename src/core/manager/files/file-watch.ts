import { abortable } from "../../../kit/abortable.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { RunningSandbox, SandboxFiles } from "../../../runtime/sandbox/index.js";
import { type EntriesByPath, type EntryChange, entryChanges } from "./entry-changes.js";

/** What the watcher of a directory is told. */
export type WatchEvent =
  /** The first one: whatever changes from now on is told. */
  | { readonly type: "watching"; readonly path: string; readonly recursive: boolean }
  | EntryChange
  /** More changed at once than is told one by one: list the directory again. */
  | { readonly type: "overflow" }
  /** The last one: the session has ended, or the manager was closed. */
  | { readonly type: "ended"; readonly why: string };

/** A directory of a session, looked at again and again. One reader takes its events, until `close`. */
export interface FileWatch extends AsyncIterable<WatchEvent>, Disposable {
  close(): void;
}

/** A watched directory, as it was at the beginning. */
export interface WatchedDirectory {
  readonly path: string;
  readonly recursive: boolean;
  readonly entries: EntriesByPath;
  /** False: the policy keeps it back. */
  readonly maySee: (path: string) => boolean;
}

export interface PollingWatchOptions extends WatchedDirectory {
  readonly signal: AbortSignal | undefined;
  /** The sandbox, if it runs: while it does not, nothing changes. */
  readonly find: () => RunningSandbox | undefined;
  /** How many look, this one included: the more there are, the less often each does. */
  readonly watchers: () => number;
  readonly onClosed: () => void;
}

/** As many as any listing has. */
const MAX_ENTRIES = 10_000;
/** A path can be 16 KB long. */
const MAX_PATH_CHARACTERS = 8 * 1024 * 1024;
const INTERVAL_MS = 300;
/** All watchers together list for at most one part in so many of the time: a listing delays other calls. */
const PAUSE_FACTOR = 10;
const MAX_EVENTS_PER_SECOND = 1000;
/** Files on their way into the workspace, beside their targets. */
const UNDERWAY = /(?:^|\/)\.skerry-[0-9a-f]{18}\.tmp$|\.skerry-\d+$/;

/** What the caller may see of a directory. FILE_TOO_LARGE: it has too many entries to watch. */
export async function listVisible(
  files: SandboxFiles,
  { path, recursive, maySee }: Omit<WatchedDirectory, "entries">,
): Promise<EntriesByPath> {
  const { entries } = await files.look(path, { recursive, limit: MAX_ENTRIES + 1 });
  let characters = 0;
  const seen = new Map<string, (typeof entries)[number]>();
  for (const entry of entries) {
    characters += entry.path.length;
    if (maySee(entry.path) && !UNDERWAY.test(entry.path)) seen.set(entry.path, entry);
  }
  if (entries.length <= MAX_ENTRIES && characters <= MAX_PATH_CHARACTERS) return seen;
  throw new SandboxError(
    "FILE_TOO_LARGE",
    `There is more than can be watched: ${MAX_ENTRIES} entries is the most`,
    {
      hint: "Watch a directory further down, or without what lies beneath it.",
    },
  );
}

/** Nothing tells us when a hostile tree changes, so we look: more often where that is quick and something happens. */
export class PollingWatch implements FileWatch {
  readonly #events: AsyncGenerator<WatchEvent, void>;
  #entries: EntriesByPath;
  #lookedAt = performance.now();
  #tookMs = 0;
  #isNudged = false;
  #wake: (() => void) | undefined;
  #ended: { readonly why: string | undefined } | undefined;
  #allowance = MAX_EVENTS_PER_SECOND;
  #countedAt = performance.now();

  constructor(private readonly options: PollingWatchOptions) {
    this.#entries = options.entries;
    this.#events = this.#run();
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent> {
    return this.#events;
  }

  /** A call of the session has just ended: lists as soon as it may. */
  nudge(): void {
    this.#isNudged = true;
    this.#wake?.();
  }

  /** Ends it with an event. */
  end(why: string): void {
    this.#finish(why);
  }

  close(): void {
    this.#finish(undefined);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  readonly #onAbort = (): void => this.close();

  #finish(why: string | undefined): void {
    if (this.#ended !== undefined) return;
    this.#ended = { why };
    this.options.signal?.removeEventListener("abort", this.#onAbort);
    this.options.onClosed();
    this.#wake?.();
  }

  async *#run(): AsyncGenerator<WatchEvent, void> {
    const { path, recursive } = this.options;
    try {
      yield { type: "watching", path, recursive };
      while (await this.#isDue()) yield* await this.#changes();
      if (this.#ended?.why !== undefined) yield { type: "ended", why: this.#ended.why };
    } finally {
      this.close();
    }
  }

  /** Resolves when it is time to look; false: it is over. */
  async #isDue(): Promise<boolean> {
    while (this.#ended === undefined) {
      const pauseMs = PAUSE_FACTOR * this.#tookMs * this.options.watchers();
      const leastMs = this.#isNudged ? pauseMs : Math.max(INTERVAL_MS, pauseMs);
      const leftMs = this.#lookedAt + leastMs - performance.now();
      if (leftMs <= 0) break;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isNudged = false;
    return this.#ended === undefined;
  }

  async #changes(): Promise<readonly WatchEvent[]> {
    const before = performance.now();
    const seen = await this.#look();
    this.#lookedAt = performance.now();
    if (seen === undefined) return [];
    this.#tookMs = this.#lookedAt - before;
    const changes = entryChanges(this.#entries, seen);
    this.#entries = seen;
    return this.#isTooMuch(changes.length) ? [{ type: "overflow" }] : changes;
  }

  /** Undefined: the sandbox does not run, or the watch has ended. */
  async #look(): Promise<EntriesByPath | undefined> {
    const { find, signal } = this.options;
    const sandbox = find();
    if (sandbox === undefined) return undefined;
    try {
      return await abortable(listVisible(sandbox.files, this.options), signal);
    } catch (error) {
      if (signal?.aborted === true || this.#ended !== undefined || !sandbox.isRunning) return undefined;
      // The directory is gone, or something else is in its place: nothing is in it any more.
      if (GONE.includes(toSandboxError(error).code)) return new Map();
      throw error;
    }
  }

  /** Counts what would be told. */
  #isTooMuch(events: number): boolean {
    const now = performance.now();
    const grownBy = ((now - this.#countedAt) * MAX_EVENTS_PER_SECOND) / 1000;
    this.#allowance = Math.min(MAX_EVENTS_PER_SECOND, this.#allowance + grownBy);
    this.#countedAt = now;
    if (events > this.#allowance) return true;
    this.#allowance -= events;
    return false;
  }
}

const GONE: readonly string[] = ["FILE_NOT_FOUND", "FILE_TYPE", "PATH_TRAVERSAL"];

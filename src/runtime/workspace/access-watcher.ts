import { byteNameOf, textOf } from "./byte-name.js";
import { type WatchLimits, WatchProcess } from "./watch-process.js";

const ANSWER_TIMEOUT_MS = 250;
const TRUNCATED = 1;
const UNAVAILABLE = 2;

/** Files that were read, workspace-relative and sorted. */
interface FilesRead {
  files: string[];
  /** What is listed was read, but there may be more. So it is in the first answer, and after too many events. */
  truncated: boolean;
}

/** One directory tree under watch. */
export interface AccessWatch {
  /**
   * The files read since the last call; undefined: this cannot be told. Never throws, never takes long. The first
   * answer comes when the whole tree is watched: ask once before the first read that matters, and again after it.
   */
  take(): Promise<FilesRead | undefined>;
  /** Lets go of the tree; resolves when that is done. Until then an unmounting may fill the watcher's queue. */
  close(): Promise<void>;
}

export interface AccessWatcherOptions {
  /** How long a question may take; then its answer is undefined. */
  readonly timeoutMs?: number;
}

/**
 * Tells which files of directories were read, by any process, through any mount. One process of the guest's program
 * for all of them: it starts with the first directory and ends with us.
 */
export class AccessWatcher {
  readonly #program: string;
  readonly #timeoutMs: number;
  #process: WatchProcess | undefined;
  #isClosed = false;

  /** The program is the guest's, on this host. */
  constructor(program: string, options: AccessWatcherOptions = {}) {
    this.#program = program;
    this.#timeoutMs = options.timeoutMs ?? ANSWER_TIMEOUT_MS;
  }

  /** Starts to watch; never throws, and never fails but by answering undefined. */
  watch(directory: string, limits?: WatchLimits): AccessWatch {
    if (this.#isClosed) return { take: async () => undefined, close: async () => undefined };
    // One that died takes its directories along; the next directory gets a new one.
    if (this.#process?.isAlive !== true) this.#process = new WatchProcess(this.#program, this.#timeoutMs);
    const process = this.#process;
    const id = process.watch(directory, limits);
    let closing: Promise<void> | undefined;
    return {
      async take() {
        return closing === undefined ? decode(await process.take(id)) : undefined;
      },
      close() {
        closing ??= process.forget(id);
        return closing;
      },
    };
  }

  /** Ends the process; every question under way is answered with undefined. */
  close(): void {
    this.#isClosed = true;
    this.#process?.end();
  }
}

function decode(answer: Buffer | undefined): FilesRead | undefined {
  const flags = answer?.[0];
  if (answer === undefined || flags === undefined || flags & UNAVAILABLE) return undefined;
  const names = byteNameOf(answer.subarray(1)).split("\0").slice(0, -1);
  return { files: names.map(textOf).sort(), truncated: (flags & TRUNCATED) !== 0 };
}

import { type ByteName, byteNameOf } from "../../workspace/index.js";

/** What the guest calls a file while it is being written: its target's name and the number of the channel. */
const TEMPORARY = /^(.*)\.skerry-\d{1,10}$/s;

/** Knows which files are being written, so that unfinished ones do not count as changes. */
export class PendingWrites {
  readonly #now = new Set<{ readonly target: ByteName }>();
  readonly #observers = new Set<Set<ByteName>>();

  /** Runs the write of a path. */
  async during<T>(path: string, write: () => Promise<T>): Promise<T> {
    const mark = { target: byteNameOf(path) };
    this.#now.add(mark);
    for (const seen of this.#observers) seen.add(mark.target);
    try {
      return await write();
    } finally {
      this.#now.delete(mark);
    }
  }

  /** Runs a listing of the files; its result comes with a test for files that were unfinished meanwhile. */
  async observe<T>(look: () => Promise<T>): Promise<[T, (path: ByteName) => boolean]> {
    const seen = new Set([...this.#now].map(({ target }) => target));
    this.#observers.add(seen);
    try {
      const result = await look();
      return [result, (path) => seen.size > 0 && seen.has(TEMPORARY.exec(path)?.[1] ?? "")];
    } finally {
      this.#observers.delete(seen);
    }
  }
}

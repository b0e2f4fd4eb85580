import { lookup } from "node:dns/promises";

/** All addresses of a name. Rejects when it has none. */
export type Resolve = (name: string, signal?: AbortSignal) => Promise<string[]>;

/** One question that is asked or waits to be, with everybody who wants its answer. */
interface Question {
  readonly name: string;
  readonly answer: Promise<string[]>;
  readonly ask: () => void;
  askers: number;
}

interface Lane {
  readonly waiting: Question[];
  readonly running: Map<string, Question>;
}

/**
 * Shares the few lookups that the system makes at once: a name without an answer holds its place for as long as the
 * system likes, and one sandbox with many of those must not keep the others from theirs.
 */
export class LookupQueue {
  readonly #atOnce: number;
  readonly #perLane: number;
  /** Those with something waiting, the next one first. */
  readonly #turns = new Set<Lane>();
  #running = 0;

  constructor(
    private readonly lookup: (name: string) => Promise<string[]>,
    { atOnce, perLane }: { atOnce: number; perLane: number },
  ) {
    this.#atOnce = atOnce;
    this.#perLane = perLane;
  }

  /** A resolver for one sandbox. */
  lane(): Resolve {
    const lane: Lane = { waiting: [], running: new Map() };
    return (name, signal) => {
      const question =
        lane.running.get(name) ??
        lane.waiting.find((each) => each.name === name) ??
        this.#enqueue(lane, name);
      question.askers++;
      const giveUp = () => {
        if (--question.askers > 0) return;
        // One that is being asked keeps its place until the system lets go of it.
        const at = lane.waiting.indexOf(question);
        if (at !== -1) lane.waiting.splice(at, 1);
      };
      return new Promise((resolve, reject) => {
        const stop = () => {
          giveUp();
          reject(signal!.reason);
        };
        if (signal?.aborted === true) return stop();
        signal?.addEventListener("abort", stop, { once: true });
        question.answer.then(resolve, reject).finally(() => signal?.removeEventListener("abort", stop));
      });
    };
  }

  #enqueue(lane: Lane, name: string): Question {
    const { promise, resolve } = withResolver<string[]>();
    const question: Question = {
      name,
      answer: promise,
      askers: 0,
      ask: () => resolve(this.lookup(name)),
    };
    lane.waiting.push(question);
    this.#turns.add(lane);
    queueMicrotask(() => this.#next());
    return question;
  }

  #next(): void {
    for (const lane of this.#turns) {
      if (this.#running >= this.#atOnce) return;
      if (lane.waiting.length === 0) this.#turns.delete(lane);
      else if (lane.running.size < this.#perLane) this.#start(lane);
    }
  }

  #start(lane: Lane): void {
    const question = lane.waiting.shift()!;
    // Behind all others that wait.
    this.#turns.delete(lane);
    if (lane.waiting.length > 0) this.#turns.add(lane);
    lane.running.set(question.name, question);
    this.#running++;
    const done = () => {
      lane.running.delete(question.name);
      this.#running--;
      this.#next();
    };
    question.answer.then(done, done);
    question.ask();
  }
}

function withResolver<T>() {
  let resolve!: (value: T | Promise<T>) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Node asks on half of its threads, of which it has four unless it is told otherwise. */
const THREADS = Number(process.env["UV_THREADPOOL_SIZE"]) || 4;
const AT_ONCE = Math.max(1, Math.floor((THREADS + 1) / 2));

/** The system's own resolver, with its `/etc/hosts`, for all sandboxes of this process. */
export const systemLookups = new LookupQueue(
  async (name) => (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
  { atOnce: AT_ONCE, perLane: Math.max(1, Math.floor(AT_ONCE / 2)) },
);

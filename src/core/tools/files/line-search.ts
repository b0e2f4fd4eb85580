import { Worker } from "node:worker_threads";
import { SandboxError } from "../../../kit/errors.js";
import { invalidArguments } from "../replies/tool-reply.js";

const MAX_LINE_CHARACTERS = 500;
/** For all files together. An expression that takes longer is given up. */
const DEADLINE_MS = 3000;

interface FoundLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Looks for lines in one text after the other. */
export interface LineSearch extends Disposable {
  find(text: string, most: number): Promise<readonly FoundLine[]>;
}

/** A search for plain text, or for a regular expression in a thread of its own, which can be ended. */
export function createLineSearch(
  wanted: string,
  options: { readonly regex: boolean; readonly ignoreCase: boolean },
): LineSearch {
  return options.regex
    ? new ExpressionSearch(wanted, options.ignoreCase)
    : new TextSearch(wanted, options.ignoreCase);
}

class TextSearch implements LineSearch {
  readonly #wanted: string;
  readonly #fold: (text: string) => string;

  constructor(wanted: string, ignoreCase: boolean) {
    this.#fold = ignoreCase ? (text) => text.toLowerCase() : (text) => text;
    this.#wanted = this.#fold(wanted);
  }

  async find(text: string, most: number): Promise<readonly FoundLine[]> {
    // Most texts have none: to look at all of it at once is the fastest.
    if (!this.#fold(text).includes(this.#wanted)) return [];
    const found: FoundLine[] = [];
    for (const [index, line] of text.split("\n").entries()) {
      if (found.length >= most) break;
      if (this.#fold(line).includes(this.#wanted)) found.push({ line: index + 1, text: cut(line) });
    }
    return found;
  }

  [Symbol.dispose](): void {}
}

const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", ({ text, most }) => {
  const found = [];
  for (const [index, line] of text.split("\\n").entries()) {
    if (found.length >= most) break;
    if (expression.test(line)) found.push({ line: index + 1, text: line });
  }
  parentPort.postMessage(found);
});
`;

class ExpressionSearch implements LineSearch {
  readonly #worker: Worker;
  #failure: SandboxError | undefined;
  #leftMs = DEADLINE_MS;
  #fail: ((error: SandboxError) => void) | undefined;

  constructor(source: string, ignoreCase: boolean) {
    const flags = ignoreCase ? "iu" : "u";
    try {
      new RegExp(source, flags);
    } catch (error) {
      throw invalidArguments(
        `file_search: "content" is not a regular expression: ${error instanceof Error ? error.message : ""}`,
        "Leave regex out to search for plain text.",
      );
    }
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { source, flags },
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    this.#worker.unref();
    this.#worker.once("error", (error) => this.#end(gaveUp(error)));
  }

  async find(text: string, most: number): Promise<readonly FoundLine[]> {
    if (this.#failure === undefined && this.#leftMs <= 0) this.#end(gaveUp());
    if (this.#failure !== undefined) throw this.#failure;
    const startedAt = performance.now();
    const found = await new Promise<readonly FoundLine[]>((resolve, reject) => {
      const timer = setTimeout(() => this.#end(gaveUp()), this.#leftMs);
      const done = () => {
        clearTimeout(timer);
        this.#leftMs -= performance.now() - startedAt;
        this.#fail = undefined;
      };
      this.#fail = (error) => {
        done();
        reject(error);
      };
      this.#worker.once("message", (lines: readonly FoundLine[]) => {
        done();
        resolve(lines);
      });
      this.#worker.postMessage({ text, most });
    });
    return found.map(({ line, text: each }) => ({ line, text: cut(each) }));
  }

  [Symbol.dispose](): void {
    void this.#worker.terminate();
  }

  #end(error: SandboxError): void {
    this.#failure = error;
    void this.#worker.terminate();
    this.#fail?.(error);
  }
}

function gaveUp(cause?: unknown): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "The regular expression takes too long on these files", {
    hint: "Write it without nested repetitions, or search for plain text.",
    ...(cause !== undefined && { cause }),
  });
}

function cut(line: string): string {
  return line.length <= MAX_LINE_CHARACTERS ? line : `${line.slice(0, MAX_LINE_CHARACTERS)}…`;
}

import { constants } from "node:os";
import { SandboxError } from "../../kit/errors.js";
import { stdout } from "../output/index.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** How long a program may take to end by itself after a Ctrl-C. */
const GRACE_MS = 2000;

/**
 * Ctrl-C, SIGTERM, SIGHUP and a reader that went away: the first aborts the signal so that the command can clean up,
 * the next one ends the process at once. A Ctrl-C that a program takes comes before these.
 */
export class Interrupt {
  readonly #controller = new AbortController();
  #status: number | undefined;
  #pass: (() => boolean) | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
    stdout.onGone(() => this.#cancel(128 + constants.signals.SIGPIPE));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit status it asks for; undefined: nothing happened. */
  get status(): number | undefined {
    return this.#status;
  }

  /** The first Ctrl-C goes to a program, which then has two seconds. `pass` returns false where none runs. */
  passTo(pass: () => boolean): void {
    this.#pass = pass;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#grace);
    for (const name of SIGNALS) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (name: (typeof SIGNALS)[number]): void => {
    const status = 128 + constants.signals[name];
    if (this.signal.aborted) process.exit(this.#status ?? status);
    if (name === "SIGINT" && this.#grace === undefined && this.#pass?.())
      this.#grace = setTimeout(() => this.#cancel(status), GRACE_MS);
    else this.#cancel(status);
  };

  #cancel(status: number): void {
    clearTimeout(this.#grace);
    this.#status ??= status;
    this.#controller.abort(new SandboxError("CANCELLED", "interrupted"));
  }
}

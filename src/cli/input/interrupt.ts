import { constants } from "node:os";
import { SandboxError } from "../../kit/errors.js";
import { stdout } from "../output/index.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Ctrl-C, SIGTERM, SIGHUP and a reader that went away: the first aborts the signal so that the command can clean up,
 * a second Ctrl-C ends the process at once.
 */
export class Interrupt {
  readonly #controller = new AbortController();
  #status: number | undefined;

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

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (name: (typeof SIGNALS)[number]): void => {
    const status = 128 + constants.signals[name];
    if (this.signal.aborted) process.exit(this.#status ?? status);
    this.#cancel(status);
  };

  #cancel(status: number): void {
    this.#status ??= status;
    this.#controller.abort(new SandboxError("CANCELLED", "interrupted"));
  }
}

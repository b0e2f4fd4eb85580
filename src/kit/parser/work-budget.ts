import { setImmediate } from "node:timers/promises";

/** One unit is some ten nanoseconds; what is done between two pauses holds everybody else up. */
const UNITS_BETWEEN_PAUSES = 500_000;

/** A text takes more work than is done for one. */
export class TooMuchWork extends Error {
  constructor() {
    super("takes more work than is done for one text");
  }
}

/** Counts work instead of time, so that the same text has the same outcome on every machine. */
export class WorkBudget {
  spent = 0;
  private pausedAt = 0;
  private meter: { readonly read: () => number; seen: number } | undefined;

  constructor(readonly limit: number) {}

  get left(): number {
    return this.limit - this.spent;
  }

  /** Throws when there is nothing left. */
  spend(units: number): void {
    this.spent += units;
    if (this.meter !== undefined) this.readMeter(this.meter);
    if (this.spent > this.limit) throw new TooMuchWork();
  }

  /** Runs something that may use a part of what is left, and counts it here as well. */
  async within<T>(limit: number, run: (part: WorkBudget) => Promise<T>): Promise<T> {
    const part = new WorkBudget(Math.min(limit, this.left));
    part.pausedAt = this.pausedAt - this.spent;
    try {
      return await run(part);
    } finally {
      this.pausedAt = this.spent + part.pausedAt;
      this.spent += part.spent;
    }
  }

  /** While this runs, also counts what another counter goes up by. */
  during<T>(read: () => number, run: () => T): T {
    const meter = { read, seen: read() };
    this.meter = meter;
    try {
      return run();
    } finally {
      this.readMeter(meter);
      this.meter = undefined;
    }
  }

  private readMeter(meter: { readonly read: () => number; seen: number }): void {
    const now = meter.read();
    // The counter starts again at 2^32.
    this.spent += (now - meter.seen) >>> 0;
    meter.seen = now;
  }

  /** Lets others run, if there has been much work since the last time. */
  async pause(): Promise<void> {
    if (this.spent - this.pausedAt < UNITS_BETWEEN_PAUSES) return;
    this.pausedAt = this.spent;
    await setImmediate();
  }
}

import type { ServerLimitsConfig } from "../../core/config/index.js";
import { RetryLater } from "./error-reply.js";

const MINUTE_MS = 60_000;

interface Use {
  running: number;
  /** How many requests may still come now. */
  allowance: number;
  /** When that was counted. */
  at: number;
}

/** How much each key uses now. A key's allowance grows back evenly, up to a minute's. */
export class KeyLimits {
  readonly #uses = new Map<string, Use>();
  #lookedAt = 0;

  constructor(
    private readonly limits: Pick<ServerLimitsConfig, "concurrency" | "requestsPerMinute">,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts a request until the function that it returns is called. RATE_LIMITED: there are too many. */
  enter(key: string): () => void {
    const { concurrency, requestsPerMinute } = this.limits;
    const use = this.#useOf(key);
    if (use.running >= concurrency) {
      throw new RetryLater(
        "RATE_LIMITED",
        `This key has ${use.running} requests running, which is the limit`,
        1,
        "Wait for one of them, or raise server.limits.concurrency.",
      );
    }
    if (use.allowance < 1) {
      const waitMs = ((1 - use.allowance) * MINUTE_MS) / requestsPerMinute;
      throw new RetryLater(
        "RATE_LIMITED",
        `This key has had its ${requestsPerMinute} requests of this minute`,
        Math.max(1, Math.ceil(waitMs / 1000)),
        "Wait as long as Retry-After says, or raise server.limits.requestsPerMinute.",
      );
    }
    use.allowance--;
    use.running++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      use.running--;
    };
  }

  #useOf(key: string): Use {
    const now = this.now();
    this.#forgetIdle(now);
    const { requestsPerMinute } = this.limits;
    const use = this.#uses.get(key) ?? { running: 0, allowance: requestsPerMinute, at: now };
    use.allowance = Math.min(
      requestsPerMinute,
      use.allowance + ((now - use.at) * requestsPerMinute) / MINUTE_MS,
    );
    use.at = now;
    this.#uses.set(key, use);
    return use;
  }

  /** What was not used for a minute has all of its allowance again. */
  #forgetIdle(now: number): void {
    if (now - this.#lookedAt < MINUTE_MS) return;
    this.#lookedAt = now;
    for (const [key, { running, at }] of this.#uses) {
      if (running === 0 && now - at >= MINUTE_MS) this.#uses.delete(key);
    }
  }
}

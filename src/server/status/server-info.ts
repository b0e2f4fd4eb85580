import { LoopDelay } from "./loop-delay.js";

/** What this process knows of itself: its version, its age, its event loop. */
export class ServerInfo implements Disposable {
  readonly startedAt = performance.now();
  readonly version: string;
  readonly loopDelay = new LoopDelay();
  /** How many WebSockets are open. */
  readonly sockets: () => number;
  /** When /metrics was last read. */
  lastScrapeAt: Date | undefined;

  constructor(version: string, sockets: () => number) {
    this.version = version;
    this.sockets = sockets;
  }

  [Symbol.dispose](): void {
    this.loopDelay[Symbol.dispose]();
  }
}

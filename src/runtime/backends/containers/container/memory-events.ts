import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { callDaemon } from "../daemon/call-daemon.js";
import { daemonLines } from "../daemon/daemon-events.js";
import { stateLabels } from "./labels.js";

const OPEN_TIMEOUT_MS = 3000;
/** A daemon that was away is asked again after so long. */
const AGAIN_MS = 1000;
/** A connection through a machine that was switched off would look alive for ever. */
const KEEP_ALIVE_MS = 30_000;

const ofClients = new WeakMap<Docker, MemoryEvents>();

/**
 * Counts the processes that the kernel killed for memory in containers whose groups are out of our sight: while a
 * container runs, the daemon tells of them only as they happen. One connection for all containers of a client, open
 * while there are any.
 */
export class MemoryEvents {
  readonly #docker: Docker;
  readonly #label: string[];
  readonly #followed = new Map<string, FollowedKills>();
  #isOpen = false;
  #reading: { readonly stop: AbortController; readonly opened: Promise<void> } | undefined;

  private constructor(docker: Docker, stateDir: string) {
    this.#docker = docker;
    this.#label = Object.entries(stateLabels(stateDir)).map(([name, value]) => `${name}=${value}`);
  }

  static of(docker: Docker, stateDir: string): MemoryEvents {
    const events = ofClients.get(docker) ?? new MemoryEvents(docker, stateDir);
    ofClients.set(docker, events);
    return events;
  }

  /** False: the daemon does not tell just now, or not at all. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves when nothing that happens from now on is missed, or when the daemon does not tell. */
  async follow(containerId: string): Promise<FollowedKills> {
    const followed = new FollowedKills();
    this.#followed.set(containerId, followed);
    this.#reading ??= this.#start();
    await this.#reading.opened;
    return followed;
  }

  end(containerId: string, followed: FollowedKills): void {
    // A container that was started again is followed again.
    if (this.#followed.get(containerId) === followed) this.#followed.delete(containerId);
    if (this.#followed.size > 0) return;
    this.#reading?.stop.abort();
    this.#reading = undefined;
  }

  #start(): { stop: AbortController; opened: Promise<void> } {
    const stop = new AbortController();
    const opened = new Promise<void>((resolve) => void this.#read(stop.signal, resolve));
    return { stop, opened };
  }

  async #read(stopped: AbortSignal, tried: () => void): Promise<void> {
    while (!stopped.aborted) {
      const attempt = new AbortController();
      const signal = AbortSignal.any([stopped, attempt.signal]);
      try {
        const filters = { type: ["container"], event: ["oom"], label: this.#label };
        const stream = await callDaemon(
          OPEN_TIMEOUT_MS,
          this.#docker.getEvents({ filters, abortSignal: signal } as Docker.GetEventsOptions),
        );
        const { socket } = stream as IncomingMessage;
        socket?.setKeepAlive?.(true, KEEP_ALIVE_MS);
        // This must not be what keeps the process alive when a sandbox is not stopped.
        socket?.unref?.();
        this.#isOpen = true;
        tried();
        for await (const event of daemonLines(stream, signal)) this.#count(event);
      } catch {
        // The daemon is away, or never tells.
      } finally {
        attempt.abort();
        this.#isOpen = false;
        tried();
      }
      await sleep(AGAIN_MS, undefined, { ref: false, signal: stopped }).catch(() => undefined);
    }
  }

  #count(event: Readonly<Record<string, unknown>>): void {
    // Daemons of before and of after 2025 write it in one of the two places.
    const { Actor, id } = event as { Actor?: { ID?: unknown }; id?: unknown };
    this.#followed.get(String(Actor?.ID ?? id))?.add();
  }
}

/** The kills in one container since it is followed. */
export class FollowedKills {
  count = 0;
  readonly #waiting = new Set<() => void>();

  add(): void {
    this.count += 1;
    for (const wake of this.#waiting) wake();
  }

  /** Waits for the next one, but not long. */
  async next(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
    });
  }
}

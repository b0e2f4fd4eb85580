import { SandboxError } from "../../../kit/errors.js";
import { withTimeout } from "../../../kit/timeout.js";
import type { Instance } from "../../backends/index.js";
import type { WarmHandle } from "../../wire/index.js";
import type { Language } from "../languages/language.js";

export interface WarmSettings {
  readonly enabled: boolean;
  readonly preload: readonly string[];
  /** Use each interpreter once, since all forks of one share its hash seed. */
  readonly freshHashSeed: boolean;
  /** False: none follows one that was used, and none beyond the first that was asked for. */
  readonly keeps: boolean;
}

interface Slot {
  readonly handle: WarmHandle;
  /** The variables that it started with and cannot take up later. */
  readonly startup: string;
  ready: boolean;
  /** When it last took a program; 0: never. */
  usedAt: number;
  running: number;
}

/** A warm interpreter that keeps dying is not started again. */
const MAX_FAILURES = 3;
/** Interpreters that fork are kept in pairs and take turns, since all forks of one share its hash seed. */
const FORKING_SLOTS = 2;
/** New ones start when nothing has run for so many times what a start takes: they must not slow down a burst. */
const QUIET_STARTS = 3;

/** A program inside can keep an interpreter from getting ready. */
const START_TIMEOUT_MS = 60_000;

function notReady(): SandboxError {
  return new SandboxError(
    "EXECUTION_FAILED",
    `The warm interpreter was not ready within ${START_TIMEOUT_MS} ms`,
  );
}

/** Keeps interpreters started inside one sandbox, in the background of what runs. */
export class WarmInterpreters {
  readonly #languages = new Map<string, LanguageSlots>();
  #closed = false;

  constructor(
    private readonly instance: Instance,
    private readonly settings: (language: Language) => WarmSettings,
    private readonly environment: () => Readonly<Record<string, string>>,
  ) {}

  /** Starts one now; resolves when it is ready. */
  async prepare(language: Language): Promise<void> {
    const slots = this.#slots(language);
    if ((await slots?.prepare()) === true && this.settings(language).keeps) slots?.replenish();
  }

  /** One that can take this program now; undefined: start it the plain way. */
  take(
    language: Language,
    env: Readonly<Record<string, string>>,
  ): { readonly id: number; done(): void } | undefined {
    if (!this.settings(language).enabled) return undefined;
    const own = this.environment();
    return this.#slots(language)?.take(Object.keys(env).length === 0 ? own : { ...own, ...env });
  }

  /** Called after a program ended: the next one of its language finds a warm interpreter. */
  replenish(language: Language): void {
    const { enabled, keeps } = this.settings(language);
    if (enabled && keeps) this.#slots(language)?.replenish();
  }

  /** Starts nothing any more. */
  close(): void {
    this.#closed = true;
    for (const slots of this.#languages.values()) slots.close();
  }

  #slots(language: Language): LanguageSlots | undefined {
    if (language.warm === undefined || this.#closed) return undefined;
    let slots = this.#languages.get(language.name);
    if (slots === undefined) {
      slots = new LanguageSlots(
        this.instance,
        language,
        language.warm,
        this.settings(language),
        this.environment,
      );
      this.#languages.set(language.name, slots);
    }
    return slots;
  }
}

/** The interpreters of one language. */
class LanguageSlots {
  readonly #language: string;
  #slots: Slot[] = [];
  #lastEnvironment: Readonly<Record<string, string>> | undefined;
  #lastStartup = "";
  #failures = 0;
  /** How long the last one took until it was ready. */
  #startMs = 50;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly instance: Instance,
    { name }: Language,
    private readonly warm: NonNullable<Language["warm"]>,
    private readonly settings: WarmSettings,
    private readonly environment: () => Readonly<Record<string, string>>,
  ) {
    this.#language = name;
  }

  /** False: one was ready already. */
  async prepare(): Promise<boolean> {
    if (this.#slots.some(({ ready }) => ready)) return false;
    const starting = this.#slots.find(({ ready }) => !ready) ?? this.#start();
    if (starting !== undefined) await withTimeout(starting.handle.ready, START_TIMEOUT_MS, notReady);
    return true;
  }

  take(env: Readonly<Record<string, string>>): { readonly id: number; done(): void } | undefined {
    const startup = this.#startupOf(env);
    // One that was never used has a seed of its own; after that, the one that has rested longest.
    const fitting = this.#slots.filter((slot) => slot.ready && slot.startup === startup);
    const slot = fitting.sort((a, b) => a.usedAt - b.usedAt)[0];
    if (slot === undefined || (this.settings.freshHashSeed && slot.usedAt > 0)) return undefined;
    slot.usedAt = performance.now();
    slot.running++;
    if (this.warm.kind === "single") this.#remove(slot);
    return { id: slot.handle.id, done: () => slot.running-- };
  }

  replenish(): void {
    clearTimeout(this.#timer);
    this.#dropOutdated();
    if (this.warm.kind === "single") {
      if (this.#slots.length === 0) this.#start();
      return;
    }
    // The second of the pair follows the first, so that a burst has two seeds as soon as it can.
    if (this.#slots.length < FORKING_SLOTS && this.#slots.every(({ ready }) => ready)) this.#start();
    const quietMs = this.settings.freshHashSeed ? 0 : QUIET_STARTS * this.#startMs;
    this.#timer = setTimeout(() => this.#refresh(), quietMs);
    this.#timer.unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Replaces what has been used, one at a time, while nothing of this language runs. */
  #refresh(): void {
    if (this.#slots.some(({ running, ready }) => running > 0 || !ready)) return;
    const fresh = this.#slots.filter(({ usedAt }) => usedAt === 0);
    if (fresh.length >= FORKING_SLOTS) return;
    const started = this.#start();
    started?.handle.ready.then(
      () => this.#dropOldest(),
      () => undefined,
    );
  }

  #dropOldest(): void {
    if (this.#slots.length > FORKING_SLOTS) {
      const oldest = this.#slots
        .filter(({ running, usedAt }) => running === 0 && usedAt > 0)
        .sort((a, b) => a.usedAt - b.usedAt)[0];
      if (oldest !== undefined) {
        this.#remove(oldest);
        oldest.handle.stop();
      }
    }
    this.replenish();
  }

  /** The environment has changed since they started: nothing would fit them any more. */
  #dropOutdated(): void {
    const startup = this.#startupOf(this.environment());
    for (const slot of this.#slots.filter((each) => each.startup !== startup && each.running === 0)) {
      this.#remove(slot);
      slot.handle.stop();
    }
  }

  #startupOf(env: Readonly<Record<string, string>>): string {
    if (env === this.#lastEnvironment) return this.#lastStartup;
    const entries = Object.entries(env).filter(([name]) => this.warm.startupVariables.test(name));
    this.#lastEnvironment = env;
    this.#lastStartup = JSON.stringify(entries.sort());
    return this.#lastStartup;
  }

  #start(): Slot | undefined {
    if (this.#failures >= MAX_FAILURES) return undefined;
    const env = this.environment();
    const handle = this.#launch(env);
    if (handle === undefined) return undefined;
    const slot: Slot = { handle, startup: this.#startupOf(env), ready: false, usedAt: 0, running: 0 };
    const startedAt = performance.now();
    this.#slots.push(slot);
    handle.ready.then(
      () => {
        slot.ready = true;
        this.#startMs = performance.now() - startedAt;
        this.#failures = 0;
      },
      () => this.#failures++,
    );
    void handle.gone.then(() => this.#remove(slot));
    return slot;
  }

  /** Undefined: the sandbox has just ended, which is no error here. */
  #launch(env: Readonly<Record<string, string>>): WarmHandle | undefined {
    try {
      return this.instance.runner.warm({
        argv: this.warm.command(this.instance.guestRuntime, this.settings.preload),
        env,
        cwd: this.instance.guestWorkspace,
        kind: this.warm.kind,
        language: this.#language,
      });
    } catch {
      return undefined;
    }
  }

  #remove(slot: Slot): void {
    this.#slots = this.#slots.filter((each) => each !== slot);
  }
}

import type { Instance } from "../backends/backend.js";
import type { WarmHandle } from "../wire/runner.js";
import type { Language } from "./languages.js";

export interface WarmSettings {
  readonly enabled: boolean;
  readonly preload: readonly string[];
}

interface Slot {
  readonly handle: WarmHandle;
  ready: boolean;
}

/** A warm interpreter that keeps dying is not started again. */
const MAX_FAILURES = 3;

/** Keeps interpreters started inside one sandbox, in the background of what runs. */
export class WarmInterpreters {
  readonly #instance: Instance;
  readonly #settings: (language: Language) => WarmSettings;
  readonly #slots = new Map<string, Slot>();
  readonly #failures = new Map<string, number>();

  constructor(instance: Instance, settings: (language: Language) => WarmSettings) {
    this.#instance = instance;
    this.#settings = settings;
  }

  /** Starts one ahead of the first program, because the configuration preloads modules for it. */
  async prepare(language: Language): Promise<void> {
    await this.#start(language)?.handle.ready;
  }

  /** One that can take this program now; undefined: start it the plain way. */
  take(language: Language, env: Readonly<Record<string, string>>): WarmHandle | undefined {
    const { warm } = language;
    if (warm === undefined || !this.#settings(language).enabled) return undefined;
    const own = this.#instance.baseEnv;
    if (Object.entries(env).some(([name, value]) => warm.startupVariables.test(name) && own[name] !== value))
      return undefined;
    const slot = this.#slots.get(language.name);
    if (slot === undefined || !slot.ready) return undefined;
    if (warm.kind === "single") this.#slots.delete(language.name);
    return slot.handle;
  }

  /** Called after a program ended: the next one of its language finds a warm interpreter. */
  replenish(language: Language): void {
    if (this.#settings(language).enabled) this.#start(language);
  }

  #start(language: Language): Slot | undefined {
    const { warm } = language;
    if (warm === undefined) return undefined;
    const existing = this.#slots.get(language.name);
    if (existing !== undefined || (this.#failures.get(language.name) ?? 0) >= MAX_FAILURES) return existing;
    const { preload } = this.#settings(language);
    const handle = this.#instance.runner.warm({
      argv: warm.command(this.#instance.guestRuntime, preload),
      env: this.#instance.baseEnv,
      cwd: this.#instance.guestWorkspace,
      kind: warm.kind,
    });
    const slot: Slot = { handle, ready: false };
    this.#slots.set(language.name, slot);
    handle.ready.then(
      () => {
        slot.ready = true;
      },
      () => this.#failures.set(language.name, (this.#failures.get(language.name) ?? 0) + 1),
    );
    handle.gone.then(() => {
      if (this.#slots.get(language.name) === slot) this.#slots.delete(language.name);
    });
    return slot;
  }
}

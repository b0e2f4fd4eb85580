import type { Config } from "../../config/index.js";
import { type ChosenBackend, chooseBackend } from "./choose-backend.js";

/** The backends that were asked for, probed once. */
export class KnownBackends {
  readonly #chosen = new Map<string, Promise<ChosenBackend>>();
  /** What "auto" and other names turned out to be. */
  readonly #names = new Map<string, string>();

  constructor(
    private readonly stateDir: string,
    private readonly config: Config["sandbox"],
  ) {}

  /** The backend of that name; a host that lacks something may get it, so a failure is not remembered. */
  get(name: string): Promise<ChosenBackend> {
    const known = this.#chosen.get(name);
    if (known !== undefined) return known;
    const chosen = chooseBackend(name, this.stateDir, this.config);
    this.#chosen.set(name, chosen);
    chosen.then(
      ({ backend }) => this.#names.set(name, backend.name),
      () => this.#chosen.delete(name),
    );
    return chosen;
  }

  /** True when both names are known to mean the same one. */
  areSame(one: string, other: string): boolean {
    return this.#nameOf(one) === this.#nameOf(other);
  }

  /** The name under which a backend was asked for: a registered one may call itself something else. */
  askedAs(backend: string): string {
    return [...this.#names].find(([, own]) => own === backend)?.[0] ?? backend;
  }

  #nameOf(name: string): string {
    return this.#names.get(name) ?? name;
  }
}

/** When a value in percent is worth an alert, and when that is over. */
export interface TriggerSettings {
  /** Above this. */
  readonly threshold: number;
  /** So many samples in a row. */
  readonly samples: number;
  /** It is over when the value is this far below the threshold: one that wavers around it alerts once. */
  readonly margin: number;
}

/** Turns a row of values into alerts, one for each time that the value rises and stays. */
export class AlertTrigger {
  #above = 0;
  #active = false;

  constructor(private readonly settings: TriggerSettings) {}

  /** True from an alert until it is over. */
  get isActive(): boolean {
    return this.#active;
  }

  /** Takes the next value; true when it begins an alert. */
  add(value: number): boolean {
    const { threshold, samples, margin } = this.settings;
    this.#above = value > threshold ? this.#above + 1 : 0;
    if (this.#active) {
      this.#active = value > threshold - margin;
      return false;
    }
    this.#active = this.#above >= samples;
    return this.#active;
  }
}

/** A map that drops its oldest entry beyond its capacity. Setting a key again makes it the newest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  override set(key: K, value: V): this {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.#capacity) super.delete(this.keys().next().value as K);
    return this;
  }
}

class Counter {
  #n = 0;
  static total = 0;
  async *each(k: number): AsyncGenerator<number> { while (this.#n < k) yield this.#n++; }
  get n(): number { return this.#n; }
  accessor?: string;
}
(async (): Promise<void> => {
  const c = new Counter();
  for await (const i of c.each(2)) console.log(i);
  const o = { a: { b: 1 } } as { a?: { b?: number } };
  console.log(o?.a?.b ?? "none", c.n, Counter.total, <number>(c.n as any));
})();

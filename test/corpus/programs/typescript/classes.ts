abstract class Base<T> {
  static made = 0;
  declare readonly phantom: string;
  #secret = 1;
  protected abstract name(): string;
  constructor(protected value: T, private readonly rest: number[] = [], public label?: string) {
    Base.made++;
  }
  accessor level = 3;
  static accessor shared = "s";
  get secret(): number { return this.#secret; }
  toString(): string { return `${this.name()} ${this.value} ${this.rest.length} ${this.label ?? "-"}`; }
}
class Leaf extends Base<string> {
  own = this.value + "!";
  override name() { return "leaf"; }
  constructor(public readonly first: number, ...others: number[]) {
    super("v", others, undefined);
  }
}
const leaf = new Leaf(7, 8, 9);
leaf.level += 2;
console.log(String(leaf), leaf.own, leaf.first, leaf.level, leaf.secret, Base.shared, Base.made, Object.keys(leaf).join());
console.log(Object.getOwnPropertyDescriptor(Base.prototype, "level")?.get !== undefined, "phantom" in leaf);

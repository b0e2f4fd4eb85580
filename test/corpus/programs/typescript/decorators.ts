const seen: string[] = [];
function logged<This, Args extends unknown[], Result>(
  target: (this: This, ...args: Args) => Result,
  context: ClassMethodDecoratorContext<This>,
) {
  context.addInitializer(function () { seen.push(`init ${String(context.name)}`); });
  return function (this: This, ...args: Args): Result {
    seen.push(`call ${String(context.name)}`);
    return target.apply(this, args);
  };
}
const named = (name: string) => <T extends abstract new (...args: any[]) => object>(target: T, context: ClassDecoratorContext) => {
  Object.defineProperty(target, "kind", { value: `${name}/${context.kind}` });
};
const plus = (by: number) => (_: undefined, context: ClassFieldDecoratorContext) => (value: number) => {
  seen.push(`${context.kind} ${context.static ? "static " : ""}${String(context.name)}`);
  return value + by;
};
function bounded(target: ClassAccessorDecoratorTarget<Counter, number>, _: ClassAccessorDecoratorContext) {
  return { set(this: Counter, value: number) { target.set.call(this, Math.min(value, 10)); } };
}

@named("counter")
class Counter {
  @plus(1) start = 1;
  @plus(2) static total = 2;
  @bounded accessor limit = 3;
  @logged add(by: number) { return this.start + by; }
  @logged static make() { return new this(); }
  @logged #hidden() { return "hidden"; }
  reveal() { return this.#hidden(); }
}
const counter = Counter.make();
counter.limit = 99;
console.log(counter.add(5), Counter.total, counter.limit, counter.reveal(), (Counter as any).kind, Counter.name);
console.log(seen.join(", "));

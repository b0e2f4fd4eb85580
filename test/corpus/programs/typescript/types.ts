interface P { a: number; b?: string }
type U = P | null;
const p: P = { a: 1 };
function id<T extends object>(x: T): T { return x; }
class Box<T> { constructor(private readonly v: T, public n: number = 2) {} get(): T { return this.v; } declare tag: string }
const b = new Box<string>("v");
let u = p as unknown as U;
console.log(id(p)!.a, b.get(), b.n, u satisfies U, Object.keys(b));
abstract class A { abstract f(): void; protected g?(): void }
export type { P };

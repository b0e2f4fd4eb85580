import { basename } from "node:path";
const at = (): string => {
  const frame = new Error().stack!.split("\n")[2]!;
  return frame.replace(/.*main\.ts:(\d+):.*/, "$1");
};
interface Point {
  x: number;
  y: number;
}
type Shape =
  | { kind: "circle"; r: number }
  | { kind: "square" };
console.log(at()); // 13
const chained = [1, 2, 3]
  .map((n): string => {
    return at();
  })
  .filter((line: string) => line !== "");
console.log(chained.join()); // 19
function generic<
  T extends Point,
  U = T,
>(
  value: T,
  _other?: U,
): string {
  // Comments
  // take lines.
  return `${at()}
    ${at()} ${(value as Point)
    .x}`;
}
console.log(generic({ x: 1, y: 2 })); // above
namespace Inner {
  type Hidden = {
    a: string;
  };
  export const line = at(); // 38
}
console.log(Inner.line);
class Late {
  accessor one = at(); // 42
  readonly two: string =
    at(); // 44
  constructor(
    public a: number,
    private b: number = Number(at()), // 47
  ) {
    console.log(this.one, this.two, this.b, at()); // 49
  }
}
new Late(1);
const wrapped = <const T extends readonly unknown[]>(
  ...all: T
): T =>
  all;
console.log(wrapped(
  at(), // 58
  at(), // 59
).join());
const overload: {
  (a: number): string;
  (a: string): string;
} = (_: unknown) => at(); // 64
console.log(overload(1));
export async function exported(): Promise<string> {
  await null;
  using _ = { [Symbol.dispose]() {} };
  const { line } = { line: at() }; // 69
  return line;
}
console.log(await exported(), basename("x"));
export { at as place };
export default at(); // 74
throw new RangeError("at the end: 75");

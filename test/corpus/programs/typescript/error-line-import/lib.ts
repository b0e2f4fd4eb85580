type A = string;
type B = number;
export function boom<T>(x: T): void {
  null!.x;
}

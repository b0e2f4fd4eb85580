const enum Bits { None, Read = 1 << 0, Write = 1 << 1, All = Read | Write }
enum Level { Low = 1, Middle, High = Middle * 10, Length = "four".length, Next = Level.High + 1 }
enum Name { A = "a", B = `${A}b` }
export enum Shared { One = 1 }
export namespace Shared { export const parse = (text: string): Shared => Shared[text as keyof typeof Shared] as unknown as Shared; }
declare enum Nowhere { X }
console.log(Bits.All, Bits[2], Level[2], Level.High, Level.Length, Level.Next, Name.B, Object.keys(Level).length);
console.log(Shared.parse("One"), Shared[1]);

enum Color { Red, Green = 5, Blue }
const enum Dir { Up = "UP" }
enum Computed { A = 1 << 2, B = A | 1, C = "x".length }
console.log(Color, Color[5], Color.Blue, Dir.Up, Computed.B, Computed.C);

/** @jsx h */
/** @jsxFrag Fragment */
import { h, Fragment } from "./h";
import { auto } from "./auto";

const Item = <T,>({ of }: { of: T }) => <li>{String(of)}</li>;
const id = <T,>(x: T): T => x;
console.log(JSON.stringify(<><ul {...{ a: 1 }} b="two">{[1, 2].map((n) => <Item of={id(n)} key={n} />)}</ul></>));
console.log(JSON.stringify(auto));

import { describe, expect, it } from "vitest";
import { growthOf, LINEAR } from "../../../../../test/setup/growth.js";
import { withoutLineEnds } from "./line-ends.js";

describe("text without the ends of its lines", () => {
  it.each([
    ["a \t\r\nb  \n\n\n", "a\nb"],
    ["  a  b", "  a  b"],
    [" \n a", "\n a"],
    ["", ""],
    ["\r\n", ""],
  ])("of %j is %j", (text, plain) => {
    expect(withoutLineEnds(text)).toBe(plain);
  });

  it("is found in one look, however much white space there is", () => {
    const spaces = " ".repeat(1000);
    expect(withoutLineEnds(`${spaces}x${spaces}\n${spaces}y`)).toBe(`${spaces}x\n${spaces}y`);
    const strip = (size: number) => withoutLineEnds(`${" ".repeat(size)}x${" ".repeat(size)}\ny`);
    expect(growthOf(strip, 250_000)).toBeLessThan(LINEAR);
  });
});

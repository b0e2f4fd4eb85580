import { describe, expect, it } from "vitest";
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
    const spaces = " ".repeat(4_000_000);
    const startedAt = performance.now();
    expect(withoutLineEnds(`${spaces}x${spaces}\n${spaces}y`)).toBe(`${spaces}x\n${spaces}y`);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

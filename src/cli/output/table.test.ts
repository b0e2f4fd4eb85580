import { expect, it } from "vitest";
import { paintFor } from "./colour.js";
import { formatTable } from "./table.js";

it("lines up its columns, also with colours in them", () => {
  const paint = paintFor({ isTerminal: true }, true, {});
  const rows = [
    ["1", "a", "x"],
    ["100", paint("red", "long"), ""],
  ];
  expect(formatTable(rows, ["right"])).toBe("  1  a     x\n100  \x1b[31mlong\x1b[39m  \n");
});

it.each([
  ["a pipe", { isTerminal: false }, true, {}],
  ["--no-color", { isTerminal: true }, false, {}],
  ["NO_COLOR", { isTerminal: true }, true, { NO_COLOR: "1" }],
  ["a terminal without colours", { isTerminal: true }, true, { TERM: "dumb" }],
])("has no colours with %s", (_, output, wanted, env) => {
  expect(paintFor(output, wanted, env)("red", "x")).toBe("x");
});

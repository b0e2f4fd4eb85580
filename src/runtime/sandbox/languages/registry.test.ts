import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { findLanguageWith, harnessFileName, LANGUAGES } from "./registry.js";

it("has one folder for each language, named for it", () => {
  const entries = readdirSync(new URL(".", import.meta.url), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(LANGUAGES.map(({ name }) => name).sort()).toEqual(folders.sort());
});

it("refuses a part that a language does not have, and says which have it", () => {
  expect(() => findLanguageWith("tests", "sh")).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED",
      message: "Tests are not supported for bash",
      hint: "Supported: python, javascript, typescript.",
    }),
  );
});

it.each([
  ["main.js", "import 'fs'", "main.mjs"],
  ["main.js", "require('fs')", "main.js"],
  ["main.cjs", "import 'fs'", "main.cjs"],
  ["main.ts", "import 'fs'", "main.ts"],
  ["notes.txt", "import 'fs'", "notes.txt"],
])("names the file %s with %j so that a harness knows what it is: %s", (name, code, expected) => {
  expect(harnessFileName(name, code)).toBe(expected);
});

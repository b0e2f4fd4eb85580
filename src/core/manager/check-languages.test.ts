import { expect, it } from "vitest";
import { parseConfig } from "../config/resolve.js";
import { checkLanguages } from "./check-languages.js";

const check = (images: Record<string, string>) =>
  checkLanguages(parseConfig({ sandbox: { backends: { docker: { images } } } }, "test").sandbox);

it.each([
  ["pyhton", "Did you mean python?"],
  ["js", "Did you mean javascript?"],
  ["cobol", "Known languages: python, javascript, typescript, bash."],
])("refuses an image for the language %s", (name, hint) => {
  expect(() => check({ [name]: "mine:1" })).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: `sandbox.backends.docker.images.${name}: unknown language`,
      hint,
    }),
  );
});

it("takes an image for each language", () => {
  check({ python: "mine:1", bash: "mine:2" });
});

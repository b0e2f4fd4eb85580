import { expect, it } from "vitest";
import { parseConfig } from "../config/index.js";
import { checkLanguages } from "./check-languages.js";

const check = async (images: Record<string, string>) =>
  checkLanguages((await parseConfig({ sandbox: { backends: { docker: { images } } } }, "test")).sandbox);

it.each([
  ["pyhton", "Did you mean python?"],
  ["js", "Did you mean javascript?"],
  ["cobol", "Known languages: python, javascript, typescript, bash."],
])("refuses an image for the language %s", async (name, hint) => {
  await expect(check({ [name]: "mine:1" })).rejects.toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: `sandbox.backends.docker.images.${name}: unknown language`,
      hint,
    }),
  );
});

it("takes an image for each language", async () => {
  await check({ python: "mine:1", bash: "mine:2" });
});

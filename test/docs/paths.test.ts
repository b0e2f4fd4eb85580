import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { below, GUIDES, ROOT, read } from "./documents.js";

const FOLDERS = /^(?:src|guest|test|bench|docs|deploy|scripts|examples|packages|\.ci)\/[\w./-]*$/;
const SOURCE = /^[\w./-]+\.(?:ts|mts|mjs|cjs|c|h|py|sh|rc)$/;

/** The paths in backticks: those from the root, and in a folder's README also the names of source files below it. */
function pathsIn(document: string, text: string): string[] {
  const withoutBlocks = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const names = [...withoutBlocks.matchAll(/`([^`\n]+)`/g)].map(({ 1: name }) => name!);
  return names.filter((name) => FOLDERS.test(name) || (document.endsWith("/README.md") && SOURCE.test(name)));
}

/** The paths that lead nowhere: from the root, from `src`, or to anything below the document's folder. */
function missingIn(document: string, text: string): string[] {
  const folder = dirname(document);
  const isThere = (path: string) =>
    existsSync(join(ROOT, path)) ||
    existsSync(join(ROOT, "src", path)) ||
    (folder !== "." && existsSync(join(ROOT, folder, path))) ||
    (document.endsWith("/README.md") && below(folder, /./).some((each) => each.endsWith(`/${path}`)));
  return pathsIn(document, text)
    .filter((path) => !isThere(path))
    .map((path) => `${document}: ${path}`);
}

it("are true where a newcomer reads them", () => {
  expect(GUIDES.flatMap((document) => missingIn(document, read(document)))).toEqual([]);
});

it("would be missed if they were not", () => {
  const text =
    "`src/kit/errors.ts` `src/gone/` `src/gone.ts` `kit/errors.ts` `backend.ts` `gone.ts` `a.b` `x`";
  expect(missingIn("src/runtime/README.md", text)).toEqual([
    "src/runtime/README.md: src/gone/",
    "src/runtime/README.md: src/gone.ts",
    "src/runtime/README.md: gone.ts",
  ]);
});

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { DOCUMENTS, ROOT, read } from "./documents.js";

describe("links", () => {
  const links = [
    ...DOCUMENTS,
    "bench/README.md",
    "guest/README.md",
    "src/runtime/backends/README.md",
    "src/runtime/wire/README.md",
  ].flatMap((document) =>
    [...read(document).matchAll(/\]\(([^)]+)\)/g)].map(({ 1: target }) => ({ document, target: target! })),
  );

  it("within the repository lead somewhere", () => {
    const broken = links.filter(({ document, target }) => {
      if (/^https?:/.test(target) || target === "THREAT_MODEL.md") return false;
      const [path, anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path!);
      if (!existsSync(resolve(ROOT, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  const written = existsSync(join(ROOT, "THREAT_MODEL.md"));
  if (!written) console.warn("skipped: the link to THREAT_MODEL.md: it is not written yet");
  it.skipIf(!written && process.env.CI !== "true")("lead to the threat model", () => {
    expect(
      links.some(({ document, target }) => document === "README.md" && target === "THREAT_MODEL.md"),
    ).toBe(true);
    expect(written).toBe(true);
  });
});

function anchorsOf(document: string): string[] {
  return [...read(document).matchAll(/^#+ (.*)$/gm)].map(({ 1: title }) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

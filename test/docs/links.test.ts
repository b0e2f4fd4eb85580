import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { below, DOCUMENTS, GUIDES, ROOT, read } from "./documents.js";

describe("links", () => {
  const links = [...new Set([...DOCUMENTS, ...GUIDES])].flatMap((document) =>
    [...read(document).matchAll(/\]\(([^)]+)\)/g)].map(({ 1: target }) => ({ document, target: target! })),
  );

  it("within the repository lead somewhere", () => {
    const broken = links.filter(({ document, target }) => {
      if (/^https?:/.test(target)) return false;
      const [path, anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path!);
      if (!existsSync(resolve(ROOT, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it("lead from the README to the threat model", () => {
    expect(links).toContainEqual({ document: "README.md", target: "THREAT_MODEL.md" });
  });

  it("lead from llms.txt to every page for users", () => {
    const named = links.filter(({ document }) => document === "llms.txt").map(({ target }) => target);
    const pages = below("docs", /\.md$/).filter((page) => !page.startsWith("docs/contribute/"));
    expect(pages.filter((page) => !named.includes(page))).toEqual([]);
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

it("the README can be read at one go", () => {
  expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(250);
});

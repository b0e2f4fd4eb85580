import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ATTACKS } from "./attacks/all.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Row {
  /** The heading it stands under, in lower case: a group of the attack suite, or one of the document's own. */
  readonly group: string;
  readonly vector: string;
  readonly defence: string;
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

/** Rows of every table of vectors. */
function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  let group = "";
  let inside = false;
  for (const line of text.split("\n")) {
    group = /^#+ (.*)$/.exec(line)?.[1]?.toLowerCase() ?? group;
    if (line === "| vector | defence | file | test |") inside = true;
    else if (!line.startsWith("|")) inside = false;
    else if (inside && !line.startsWith("|--")) {
      const [vector = "", defence = "", file = "", test = ""] = line.slice(2, -2).split(" | ");
      const files = [...file.matchAll(/`([^`]+)`/g)].map(({ 1: path }) => path!);
      const tests = [...test.matchAll(/"([^"]+)"/g)].map(({ 1: title }) => title!);
      rows.push({ group, vector, defence, files, tests });
    }
  }
  return rows;
}

/** Titles of the tests and conformance cases in a source text. */
function titlesIn(source: string): string[] {
  const title = /(?:\bit(?:\.skipIf\([^)]*\))?\(|\btitle:|[\])]\)?\()\s*"((?:[^"\\]|\\.)*)"/g;
  return [...source.matchAll(title)].map(({ 1: text }) => JSON.parse(`"${text}"`) as string);
}

function testSources(): string[] {
  return ["src", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => /(?:\.test|-cases)\.ts$/.test(path) && !path.endsWith("threat-model.test.ts"))
      .map((path) => readFileSync(join(ROOT, folder, path), "utf8")),
  );
}

/** `…` stands for any text. */
function names(pattern: string, title: string): boolean {
  const [start = "", end] = pattern.split("…");
  if (end === undefined) return pattern === title;
  return title.length > start.length + end.length && title.startsWith(start) && title.endsWith(end);
}

const rows = rowsOf(readFileSync(join(ROOT, "THREAT_MODEL.md"), "utf8"));
const attackNames = ATTACKS.map(({ name }) => name);

describe("THREAT_MODEL.md", () => {
  it("gives every vector a defence, a file and a test", () => {
    const incomplete = rows.filter(
      ({ vector, defence, files, tests }) =>
        vector === "" || defence === "" || files.length === 0 || tests.length === 0,
    );
    expect(incomplete).toEqual([]);
    expect(rows.length).toBeGreaterThan(40);
  });

  it("names files that exist", () => {
    const missing = rows.flatMap(({ files }) => files).filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  it("names attacks and tests that exist", () => {
    const titles = new Set([...attackNames, ...testSources().flatMap(titlesIn)]);
    const missing = rows
      .flatMap(({ tests }) => tests)
      .filter((pattern) => ![...titles].some((title) => names(pattern, title)));
    expect(missing).toEqual([]);
  });

  it("has every attack under the heading of its group", () => {
    const uncovered = ATTACKS.filter(
      ({ name, group }) =>
        !rows.some((row) => row.group === group.toLowerCase() && row.tests.some((test) => names(test, name))),
    );
    expect(uncovered.map(({ group, name }) => `${group}: ${name}`)).toEqual([]);
  });

  it("would be found out if it named something that does not exist", () => {
    const [row] = rowsOf(
      '## Wrong\n\n| vector | defence | file | test |\n|---|---|---|---|\n| a | b | `c.ts` | "d …"; "e" |\n',
    );
    expect(row).toEqual({ group: "wrong", vector: "a", defence: "b", files: ["c.ts"], tests: ["d …", "e"] });
    expect([names("d …", "d and more"), names("d …", "d "), names("e", "e f")]).toEqual([true, false, false]);
    expect(
      titlesIn('it("one", f); it.each([1])("two %s", f); const x = "three"; ({ title: "four" })'),
    ).toEqual(["one", "two %s", "four"]);
  });
});

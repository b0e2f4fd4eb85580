import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

/** Top to bottom. A folder may import itself and anything listed before it. */
const LAYERS = [
  "errors.ts",
  "visible.ts",
  "config",
  "syntax",
  "policy",
  "risk",
  "workspace",
  "egress",
  "wire",
  "backends",
  "sandbox",
  "pool",
  "confirmation",
  "audit",
  "metrics",
  "store",
  "manager",
  "browser",
  "tools",
  "testing",
  "mcp",
  "server",
  "client",
  "cli",
];
/** The package's face imports whatever it exports. */
const FACE = "index.ts";

const src = fileURLToPath(new URL("../src", import.meta.url));

/** The room of a file: its top folder in src, or its own name when it stands there. */
function roomOf(file: string): string {
  return relative(src, file).split(sep)[0]!;
}

/** Every module a source text imports: static, type-only, re-exported, dynamic and in types. */
function importsOf(text: string): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** What is wrong with importing `specifier` from `file`, or undefined. */
function complaint(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const target = resolve(dirname(file), specifier);
  const where = `${relative(src, file)} imports ${specifier}`;
  if (target !== src && !target.startsWith(src + sep)) return `${where}, which is outside src`;
  const from = roomOf(file);
  const to = roomOf(target).replace(/\.js$/, ".ts");
  if (from === FACE || from === to) return undefined;
  if (to === FACE) return `${where}: rooms do not import the package's face`;
  if (LAYERS.indexOf(to) < LAYERS.indexOf(from)) return undefined;
  return `${where}: ${from} stands above ${to}`;
}

const entries = readdirSync(src, { withFileTypes: true });
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  // A test may stand on anything.
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .map((name) => join(src, name));

it("has only the rooms that the architecture names", () => {
  const unknown = entries
    .map(({ name }) => name)
    .filter((name) => ![...LAYERS, FACE, "README.md"].includes(name));
  expect(unknown.filter((name) => !/^(?:index|errors|visible)\.test\.ts$/.test(name))).toEqual([]);
});

it("imports only upwards", () => {
  const complaints = files.flatMap((file) =>
    importsOf(readFileSync(file, "utf8")).flatMap((specifier) => {
      return complaint(file, specifier) ?? [];
    }),
  );
  expect(complaints).toEqual([]);
});

it("would notice an import of any kind in the wrong direction", () => {
  const text = [
    'import { a } from "../manager/index.js";',
    'import type { b } from "../cli/main.js";',
    'export { c } from "../server/index.js";',
    'const d = await import("../mcp/index.js");',
    'let e: import("../tools/index.js").E;',
    'import { f } from "../../bench/main.js";',
    'import { g } from "../index.js";',
    'import { h } from "../errors.js";',
    'import { i } from "./own.js";',
    'import { readFile } from "node:fs";',
  ].join("\n");
  const complaints = importsOf(text).flatMap(
    (specifier) => complaint(join(src, "config/x.ts"), specifier) ?? [],
  );
  expect(complaints).toEqual([
    "config/x.ts imports ../manager/index.js: config stands above manager",
    "config/x.ts imports ../cli/main.js: config stands above cli",
    "config/x.ts imports ../server/index.js: config stands above server",
    "config/x.ts imports ../mcp/index.js: config stands above mcp",
    "config/x.ts imports ../tools/index.js: config stands above tools",
    "config/x.ts imports ../../bench/main.js, which is outside src",
    "config/x.ts imports ../index.js: rooms do not import the package's face",
  ]);
});

it.each(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name))(
  "src/%s has a README",
  (name) => {
    expect(existsSync(join(src, name, "README.md"))).toBe(true);
  },
);

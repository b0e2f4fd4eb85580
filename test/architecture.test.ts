import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { parse, readSources, SRC } from "./setup/source-files.js";

/** Each floor with the floors that it may import. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  kit: [],
  runtime: ["kit"],
  guard: ["kit"],
  core: ["kit", "runtime", "guard"],
  mcp: ["kit", "runtime", "guard", "core"],
  server: ["kit", "runtime", "guard", "core", "mcp"],
  cli: ["kit", "runtime", "guard", "core", "mcp", "server"],
};
/** The package's own faces, one per entry of `exports`: they import whatever they export. */
const ENTRY_POINTS = "entry-points";

/** A source tree: what each file imports. Paths are relative to `src`, with `/`. */
type Imports = ReadonlyMap<string, readonly string[]>;

/** Every module a source imports: static, type-only, re-exported, dynamic, in types, by `require` and as a file's URL. */
function importsOf(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) found.push(specifier.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  if (ts.isCallExpression(node) && /^(?:import|require(?:\.resolve)?)$/.test(node.expression.getText()))
    return node.arguments[0];
  if (ts.isNewExpression(node) && node.expression.getText() === "URL") {
    const isOfModule = node.arguments?.[1]?.getText() === "import.meta.url";
    return isOfModule && /\.js["'`]$/.test(node.arguments[0]!.getText()) ? node.arguments[0] : undefined;
  }
  return undefined;
}

/** The file that `specifier` means in `file`, or undefined for a package. */
function targetOf(file: string, specifier: string): string | undefined {
  if (/^skerry(?:\/|$)/.test(specifier)) return "index.ts";
  if (!specifier.startsWith(".")) return undefined;
  const target = relative(SRC, resolve(SRC, dirname(file), specifier))
    .split(sep)
    .join("/");
  return target.replace(/\.js$/, ".ts");
}

const targetsOf = (file: string, source: ts.SourceFile) =>
  importsOf(source).flatMap((specifier) => targetOf(file, specifier) ?? []);

const floorOf = (file: string) => (file.includes("/") ? file.slice(0, file.indexOf("/")) : ENTRY_POINTS);

/** The folders above a file, outermost first. */
function foldersOf(file: string): string[] {
  const parts = file.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** What is wrong with importing `target` from `file`, or undefined. */
function complaint(file: string, target: string, tree: Imports): string | undefined {
  const where = `${file} imports ${target}`;
  if (target.startsWith("..")) return `${where}, which is outside src`;
  if (!target.includes("/")) return `${where}: nothing imports an entry point`;
  const [from, to] = [floorOf(file), floorOf(target)];
  if (from !== ENTRY_POINTS && from !== to && !FLOORS[from]?.includes(to))
    return `${where}: ${from} does not know ${to}`;
  if (from !== to && to !== "kit" && !target.endsWith("/index.ts")) return `${where}, which is no index.ts`;
  // A folder with an index.ts is a room. Files outside of it import the index.ts of the outermost room.
  const room = foldersOf(target).find(
    (folder) => tree.has(`${folder}/index.ts`) && !file.startsWith(`${folder}/`),
  );
  if (room !== undefined && target !== `${room}/index.ts`) return `${where}, past ${room}/index.ts`;
  return undefined;
}

/** Groups of files that import each other in a circle, types included. */
function findCycles(tree: Imports): string[][] {
  const indexes = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  // Tarjan's strongly connected components.
  const visit = (file: string) => {
    indexes.set(file, indexes.size);
    low.set(file, indexes.get(file)!);
    stack.push(file);
    for (const target of tree.get(file) ?? []) {
      if (!tree.has(target)) continue;
      if (!indexes.has(target)) visit(target);
      if (stack.includes(target)) low.set(file, Math.min(low.get(file)!, low.get(target)!));
    }
    if (low.get(file) !== indexes.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1 || tree.get(file)?.includes(file)) cycles.push(group.sort());
  };
  for (const file of tree.keys()) if (!indexes.has(file)) visit(file);
  return cycles;
}

const tree: Imports = new Map([...readSources()].map(([file, source]) => [file, targetsOf(file, source)]));
const complaintsOf = (imports: Imports) =>
  [...imports].flatMap(([file, targets]) =>
    targets.flatMap((target) => complaint(file, target, imports) ?? []),
  );

it("has only the floors that the architecture names", () => {
  const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual(Object.keys(FLOORS).sort());
});

it("imports only floors below, and rooms only by their face", () => {
  expect(complaintsOf(tree)).toEqual([]);
});

it("has no circle of imports", () => {
  expect(findCycles(tree)).toEqual([]);
});

it("would notice an import of any kind that is not allowed", () => {
  const text = [
    'import { a } from "../../core/manager/index.js";',
    'import type { b } from "../../cli/main.js";',
    'export { c } from "../../guard/policy/index.js";',
    'const d = await import("../../mcp/index.js");',
    'let e: import("../../core/tools/index.js").E;',
    'import { f } from "../../../bench/main.js";',
    'import { g } from "../../index.js";',
    'import { h } from "../wire/frame.js";',
    'import { i } from "../wire/index.js";',
    'import { j } from "../../kit/errors.js";',
    'import { k } from "./own.js";',
    'import { readFile } from "node:fs";',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program
    'const l = `${await import("../../cli/one.js")}`;',
    'import m = require("../../cli/two.js");',
    'const n = createRequire(import.meta.url); const o = require("../../cli/three.js");',
    'const p = new URL("../../cli/four.js", import.meta.url);',
    'import "skerry/server";',
    'import { q } from "../../kit/parser/tree.js";',
  ].join("\n");
  const file = "runtime/sandbox/x.ts";
  const imports = new Map([
    [file, targetsOf(file, parse(file, text))],
    ["runtime/wire/index.ts", []],
    ["kit/parser/index.ts", []],
    ["index.ts", ["server/index.ts", "kit/errors.ts", "server/serve.ts"]],
  ]);
  expect(complaintsOf(imports)).toEqual([
    `${file} imports core/manager/index.ts: runtime does not know core`,
    `${file} imports cli/main.ts: runtime does not know cli`,
    `${file} imports guard/policy/index.ts: runtime does not know guard`,
    `${file} imports mcp/index.ts: runtime does not know mcp`,
    `${file} imports core/tools/index.ts: runtime does not know core`,
    `${file} imports ../bench/main.ts, which is outside src`,
    `${file} imports index.ts: nothing imports an entry point`,
    `${file} imports runtime/wire/frame.ts, past runtime/wire/index.ts`,
    ...["one", "two", "three", "four"].map(
      (name) => `${file} imports cli/${name}.ts: runtime does not know cli`,
    ),
    `${file} imports index.ts: nothing imports an entry point`,
    `${file} imports kit/parser/tree.ts, past kit/parser/index.ts`,
    "index.ts imports server/serve.ts, which is no index.ts",
  ]);
});

it("would notice a circle of two and a circle of types", () => {
  const circles = new Map([
    ["kit/a.ts", ["kit/b.ts"]],
    ["kit/b.ts", ["kit/c.ts", "kit/a.ts"]],
    ["kit/c.ts", []],
  ]);
  expect(findCycles(circles)).toEqual([["kit/a.ts", "kit/b.ts"]]);
});

it.each([...new Set([...tree.keys()].flatMap((file) => foldersOf(file).slice(0, 2)))].filter(isRoom))(
  "src/%s has a README",
  (name) => {
    expect(existsSync(join(SRC, name, "README.md"))).toBe(true);
  },
);

/** A floor, or a room that stands directly on one. */
function isRoom(folder: string): boolean {
  return !folder.includes("/") || tree.has(`${folder}/index.ts`);
}

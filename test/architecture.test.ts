import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { CLIENT, parse, readSources, SRC } from "./setup/source-files.js";

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
/** The packages that each floor may load. What is not listed is loaded through a floor that has it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  kit: ["@vscode/tree-sitter-wasm", "zod"],
  runtime: [
    "@anthropic-ai/sandbox-runtime",
    "@peculiar/asn1-schema",
    "@peculiar/asn1-x509",
    "@vscode/tree-sitter-wasm",
    "diff",
    "dockerode",
    "tar-stream",
    "zod",
  ],
  guard: ["@vscode/tree-sitter-wasm", "yaml"],
  core: ["@skerry/client", "prom-client", "yaml", "zod"],
  mcp: ["@modelcontextprotocol/sdk", "zod"],
  server: [
    "@fastify/swagger",
    "@fastify/swagger-ui",
    "@fastify/websocket",
    "@modelcontextprotocol/sdk",
    "fastify",
    "fastify-type-provider-zod",
    "libsql",
    "pg",
    "prom-client",
    "zod",
  ],
  cli: ["@skerry/client", "commander", "pino", "pino-pretty", "zod"],
};
const CLIENT_PACKAGES = ["eventsource-parser", "ws"];
/** The package's own faces, one per entry of `exports`: they import whatever they export. */
const ENTRY_POINTS = "entry-points";

/** A source tree: what each file imports. Paths are relative to `src`, with `/`. */
type Imports = ReadonlyMap<string, readonly string[]>;

/** What stands for a module in a tree of imports when the module cannot be told from the source. */
const COMPUTED = "a computed name";

/**
 * Every module a source imports: static, type-only, re-exported, dynamic, in types, by `require`, by `import.meta.resolve`, as a
 * file's URL, and as the module that it declares more of. `createRequire` makes a `require` of that name, or its imports are
 * computed, and so is what `/// <reference>` and `import a = b.c` take.
 */
function importsOf(source: ts.SourceFile): string[] {
  const { referencedFiles, typeReferenceDirectives, libReferenceDirectives } = source;
  const references = [...referencedFiles, ...typeReferenceDirectives, ...libReferenceDirectives];
  const found: string[] = references.map(() => COMPUTED);
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) {
      const text = ts.isStringLiteralLike(specifier) ? specifier.text : COMPUTED;
      // A URL needs no "./" to mean a file beside this one.
      found.push(
        ts.isNewExpression(node) && /^\w[^:]*$/.test(text) && text !== COMPUTED ? `./${text}` : text,
      );
    }
    if (isHiddenRequire(node)) found.push(COMPUTED);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** What loads the module that its first argument names. */
const LOADERS = /^(?:import|require(?:\.resolve)?|import\.meta\.resolve)$/;

/** Whether a node makes or passes on a `require` whose calls `specifierOf` would not see. */
function isHiddenRequire(node: ts.Node): boolean {
  if (!ts.isIdentifier(node) || !/^(?:createRequire|require|getBuiltinModule)$/.test(node.text)) return false;
  const { parent } = node;
  if (ts.isCallExpression(parent) && parent.expression === node) {
    if (node.text === "require") return false;
    // The only form: const require = createRequire(import.meta.url)
    return !(ts.isVariableDeclaration(parent.parent) && parent.parent.name.getText() === "require");
  }
  if (node.text === "getBuiltinModule") return false;
  if (ts.isImportSpecifier(parent)) return parent.propertyName !== undefined;
  const isDeclared = ts.isVariableDeclaration(parent) && parent.name === node;
  const isResolve = ts.isPropertyAccessExpression(parent) && parent.getText() === "require.resolve";
  return !isDeclared && !isResolve;
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportEqualsDeclaration(node))
    return ts.isExternalModuleReference(node.moduleReference) ? undefined : node.moduleReference;
  if (ts.isModuleDeclaration(node)) return ts.isStringLiteral(node.name) ? node.name : undefined;
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument;
  if (ts.isCallExpression(node) && LOADERS.test(node.expression.getText())) return node.arguments[0];
  if (ts.isNewExpression(node) && node.expression.getText() === "URL") {
    const [path, base] = (node.arguments ?? []).map(plain);
    if (path === undefined || base?.getText() !== "import.meta.url") return undefined;
    return ts.isStringLiteralLike(path) && !/\.[cm]?[jt]sx?$/.test(path.text) ? undefined : path;
  }
  return undefined;
}

/** An expression without what only the type checker reads. */
function plain(node: ts.Expression): ts.Expression {
  const isWrapped =
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isParenthesizedExpression(node);
  return isWrapped ? plain(node.expression) : node;
}

/** The file that `specifier` means in `file`, or undefined for a package. */
function targetOf(file: string, specifier: string): string | undefined {
  if (/^skerry(?:\/|$)/.test(specifier)) return "index.ts";
  if (specifier === COMPUTED || /^@skerry\/client\//.test(specifier)) return specifier;
  if (!specifier.startsWith(".")) return undefined;
  const target = relative(SRC, resolve(SRC, dirname(file), specifier))
    .split(sep)
    .join("/");
  return target.replace(/\.js$/, ".ts");
}

/** The package that a specifier loads, or undefined for a file or a part of Node.js. */
function packageOf(specifier: string): string | undefined {
  if (specifier === COMPUTED || /^(?:\.|node:|skerry(?:\/|$))/.test(specifier)) return undefined;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Packages that a file loads and its floor does not have. */
const strangePackages = (
  file: string,
  source: ts.SourceFile,
  known = PACKAGES[floorOf(file)] ?? ["@skerry/client"],
) =>
  importsOf(source)
    .flatMap((specifier) => packageOf(specifier) ?? [])
    .filter((name) => !known.includes(name))
    .map((name) => `${file} loads ${name}`);

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
  if (target === COMPUTED) return where;
  if (target.startsWith("@")) return `${where}, past the package's face`;
  if (target.startsWith("..")) return `${where}, which is outside src`;
  if (!target.includes("/")) return `${where}: nothing imports an entry point`;
  const [from, to] = [floorOf(file), floorOf(target)];
  if (from !== ENTRY_POINTS && from !== to && !FLOORS[from]?.includes(to))
    return `${where}: ${from} does not know ${to}`;
  if (from !== to && to !== "kit" && !target.endsWith("/index.ts")) return `${where}, which is no index.ts`;
  // Files outside of a room import the index.ts of the outermost room.
  const room = foldersOf(target).find((folder) => isRoom(folder, tree) && !file.startsWith(`${folder}/`));
  if (room !== undefined && target !== `${room}/index.ts`) return `${where}, past ${room}/index.ts`;
  return undefined;
}

/** A folder that stands directly on a floor is a room, and so is each folder with an index.ts. */
const isRoom = (folder: string, tree: Imports) =>
  folder.split("/").length === 2 || tree.has(`${folder}/index.ts`);

/** What each folder imports from its siblings, with all that is in both. */
function siblingImports(tree: Imports): Imports {
  const found = new Map<string, string[]>();
  for (const [file, targets] of tree) {
    const own = foldersOf(file);
    for (const folders of targets.map(foldersOf)) {
      const depth = folders.findIndex((folder, index) => folder !== own[index]);
      const [from, to] = [own[depth], folders[depth]];
      if (from !== undefined && to !== undefined) found.set(from, [...(found.get(from) ?? []), to]);
      if (to !== undefined && !found.has(to)) found.set(to, []);
    }
  }
  return found;
}

/** Groups of files, or of folders, that import each other in a circle, types included. */
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

const treeOf = (sources: ReadonlyMap<string, ts.SourceFile>): Imports =>
  new Map([...sources].map(([file, source]) => [file, targetsOf(file, source)]));
const sources = readSources();
const tree = treeOf(sources);
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

it("loads on each floor only the packages that are listed for it", () => {
  expect([...sources].flatMap(([file, source]) => strangePackages(file, source))).toEqual([]);
});

it("has a client that imports nothing of this package, nothing in a circle, and two packages", () => {
  const client = readSources(CLIENT);
  const imports = treeOf(client);
  expect(findCycles(imports)).toEqual([]);
  const outside = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => !client.has(target)).map((target) => `${file} imports ${target}`),
  );
  expect(outside).toEqual([]);
  const strange = [...client].flatMap(([file, source]) => strangePackages(file, source, CLIENT_PACKAGES));
  expect(strange).toEqual([]);
});

it("has no circle of imports, neither of files nor of folders beside each other", () => {
  expect(findCycles(tree)).toEqual([]);
  expect(findCycles(siblingImports(tree))).toEqual([]);
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
    'const require = createRequire(import.meta.url); const o = require("../../cli/three.js");',
    'const p = new URL("../../cli/four.js", import.meta.url);',
    'import "skerry/server";',
    'import { q } from "../../kit/parser/tree.js";',
    'import { r } from "../faceless/r.js";',
    'import "skerry/dist/kit/errors.js";',
    'import "@skerry/client/src/session.js"; import "@skerry/client";',
    'const s = import.meta.resolve("../../cli/five.js");',
    "const t = await import(s); require(s); let u: import(T);",
    'const v = createRequire(import.meta.url); v("../../cli/six.js");',
    'const w = require; w("../../cli/seven.js");',
    'createRequire(import.meta.url)("../../cli/eight.js");',
    'import { createRequire as x } from "node:module";',
    'const y = require.resolve("../../cli/nine.js");',
    'const z = new URL("../../cli/ten.js" as string, import.meta.url);',
    "const aa = new URL(y, import.meta.url);",
    'declare module "../../cli/eleven.js" { interface A {} }',
    "export import bb = j.B;",
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
    `${file} imports runtime/faceless/r.ts, past runtime/faceless/index.ts`,
    `${file} imports index.ts: nothing imports an entry point`,
    `${file} imports @skerry/client/src/session.js, past the package's face`,
    `${file} imports cli/five.ts: runtime does not know cli`,
    ...new Array(7).fill(`${file} imports a computed name`),
    ...["nine", "ten"].map((name) => `${file} imports cli/${name}.ts: runtime does not know cli`),
    `${file} imports a computed name`,
    `${file} imports cli/eleven.ts: runtime does not know cli`,
    `${file} imports a computed name`,
    "index.ts imports server/serve.ts, which is no index.ts",
  ]);
});

it("would notice what a file refers to, and a package of another floor", () => {
  const references = '/// <reference path="../../cli/main.ts" />\n/// <reference types="node" />\n';
  const file = "kit/a.ts";
  const source = parse(
    file,
    `${references}import "fastify"; import { Client } from "@skerry/client/x"; import "zod";`,
  );
  expect(targetsOf(file, source)).toEqual([COMPUTED, COMPUTED, "@skerry/client/x"]);
  expect(strangePackages(file, source)).toEqual([`${file} loads fastify`, `${file} loads @skerry/client`]);
});

it("would notice a circle of two and a circle of types", () => {
  const circles = new Map([
    ["kit/a.ts", ["kit/b.ts"]],
    ["kit/b.ts", ["kit/c.ts", "kit/a.ts"]],
    ["kit/c.ts", []],
  ]);
  expect(findCycles(circles)).toEqual([["kit/a.ts", "kit/b.ts"]]);
});

it("would notice a circle of three folders whose files have none", () => {
  const circles = new Map([
    ["core/m/a/1.ts", ["core/m/b/x/1.ts", "core/m/own.ts"]],
    ["core/m/b/2.ts", ["core/m/c/1.ts"]],
    ["core/m/c/2.ts", ["core/m/a/deep/2.ts"]],
    ["core/m/own.ts", ["core/m/d/1.ts"]],
    ["core/m/d/2.ts", ["core/m/a/1.ts"]],
  ]);
  expect(findCycles(circles)).toEqual([]);
  expect(findCycles(siblingImports(circles))).toEqual([["core/m/a", "core/m/b", "core/m/c"]]);
});

it.each(Object.keys(FLOORS))("src/%s has a README that names every room, and every room a face", (floor) => {
  const readme = readFileSync(join(SRC, floor, "README.md"), "utf8");
  const folders = new Set([...tree.keys()].flatMap((file) => foldersOf(file).slice(1, 2)));
  const rooms = [...folders].filter((folder) => floorOf(folder) === floor);
  expect(rooms.filter((room) => !tree.has(`${room}/index.ts`))).toEqual([]);
  expect(rooms.filter((room) => !readme.includes(`\`${room.slice(floor.length + 1)}/`))).toEqual([]);
});

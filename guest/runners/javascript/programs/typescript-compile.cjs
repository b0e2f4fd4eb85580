"use strict";
// Turns TypeScript into JavaScript with TypeScript itself (typescript.cjs beside this file, loaded with the first file): types
// are removed, never checked. Every statement stays on its line, so that stack traces need no source maps, wherever they are made.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");
const { keepLines } = require("./typescript-lines.cjs");

// Numbers of TypeScript's, which its types have as constants.
const ES2022 = 9;
const MODULES = { commonjs: 1, esm: 99 };
const JSX = { preserve: 1, react: 2, native: 3, automatic: 4 };
const FORCE_MODULE = 3;
const CRLF = 0;
const FAILED = Symbol("transform failed");

delete require.cache[__filename];
let typescript;
const load = () => (typescript ??= loadCompiler().exports);

/** With V8's own code of an earlier start beside it, where it is of this V8: most of a cold start is compiling the compiler. */
function loadCompiler() {
  const filename = path.join(__dirname, "typescript.cjs");
  const cache = path.join(__dirname, `typescript-${process.versions.v8.split("-")[0]}.cache`);
  const cachedData = fs.existsSync(cache) ? fs.readFileSync(cache) : undefined;
  const script = new vm.Script(Module.wrap(fs.readFileSync(filename, "latin1")), { filename, cachedData });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, filename, __dirname);
  return { exports: module.exports, script };
}

/** The code that V8 has made of the compiler for such files: see guest/bundle-typescript.mjs. */
function createCache() {
  const { exports, script } = loadCompiler();
  typescript = exports;
  warmUp();
  return script.createCachedData();
}

/**
 * The JavaScript of a TypeScript file. What it cannot be says so in an error that reads like one of Node's own, with file, line
 * and a caret. As CommonJS, `import.meta` is a variable that the caller provides: `usesMeta` tells.
 */
function compile(source, filename, { module = "commonjs", configuration = configurationOf(filename) } = {}) {
  const ts = load();
  // Ends of lines are the same in every literal; the compiler's own are told from them in typescript-lines.cjs.
  const text = source.replace(/^#!.*/, "").replace(/\r\n?/g, "\n");
  const file = ts.createSourceFile(filename, text, {
    languageVersion: ES2022,
    jsDocParsingMode: 1,
    setExternalModuleIndicator: (each) => (each.externalModuleIndicator ??= true),
  });
  if (file.parseDiagnostics.length > 0) throw located(file.parseDiagnostics[0], text, filename);
  const options = { ...optionsOf(configuration), module: MODULES[module] };
  const misplaced = text.includes("@") ? misplacedDecorator(ts, file, options.experimentalDecorators === true) : undefined;
  if (misplaced !== undefined) throw located(misplaced, text, filename);
  const output = emit(ts, file, options, module === "commonjs");
  const code = output.code.replace(/\/\/# sourceMappingURL=.*\s*$/, "").replace(/\bexport \{\};\s*$/, "");
  return { code: keepLines(code, output.map), usesMeta: output.usesMeta };
}

/** A decorator that the compiler would leave out, since only its checker complains. */
function misplacedDecorator(ts, file, isLegacy) {
  let found;
  const visit = (node, parent, above) => {
    const decorator = node.modifiers?.find(({ kind }) => kind === ts.SyntaxKind.Decorator);
    if (decorator !== undefined && !ts.nodeCanBeDecorated(isLegacy, node, parent, above)) {
      const isOfLegacy = !isLegacy && ts.nodeCanBeDecorated(true, node, parent, above);
      const hint = isOfLegacy ? ': set "experimentalDecorators" in tsconfig.json' : "";
      found ??= { start: decorator.expression.pos - 1, messageText: `Decorators are not valid here${hint}` };
    }
    ts.forEachChild(node, (child) => visit(child, node, parent));
  };
  visit(file);
  return found;
}

/** The same for code that has no file, and stands in the global scope. The settings may have changed since the code before. */
function compileCell(source) {
  configurations.clear();
  return compile(source, `${process.cwd()}/cell.ts`, { module: "esm" }).code;
}

function optionsOf({ options }) {
  const { target, jsx, useDefineForClassFields } = options;
  return {
    ...options,
    target: ES2022,
    useDefineForClassFields: useDefineForClassFields ?? (target === undefined || target >= ES2022),
    jsx: jsx === undefined ? JSX.react : jsx === JSX.preserve || jsx === JSX.native ? JSX.automatic : jsx,
    moduleDetection: FORCE_MODULE,
    moduleResolution: undefined,
    isolatedModules: true,
    preserveConstEnums: true,
    esModuleInterop: true,
    alwaysStrict: true,
    removeComments: true,
    newLine: CRLF,
    sourceMap: true,
    noLib: true,
    noResolve: true,
    noCheck: true,
    suppressOutputPathCheck: true,
    allowNonTsExtensions: true,
    ...Object.fromEntries(NOT_OURS.map((name) => [name, undefined])),
  };
}

/** Settings of a project's build that change where its output goes, or ask for more than one file. */
const NOT_OURS = [
  ...["composite", "incremental", "tsBuildInfoFile", "declaration", "declarationMap", "emitDeclarationOnly", "declarationDir"],
  ...["outDir", "outFile", "rootDir", "rootDirs", "inlineSourceMap", "inlineSources", "sourceRoot", "mapRoot", "noEmit", "noEmitOnError"],
  ...["types", "typeRoots", "lib", "paths", "baseUrl", "plugins", "importHelpers", "noEmitHelpers", "isolatedDeclarations"],
  ...["rewriteRelativeImportExtensions", "allowImportingTsExtensions", "customConditions", "resolvePackageJsonExports", "resolvePackageJsonImports"],
];

function emit(ts, file, options, hasMetaVariable) {
  const output = { code: "", map: "", usesMeta: false };
  const host = {
    getSourceFile: (name) => (name === file.fileName ? file : undefined),
    writeFile: (name, text) => {
      output[name.endsWith(".map") ? "map" : "code"] = text;
    },
    getDefaultLibFileName: () => "lib.d.ts",
    useCaseSensitiveFileNames: () => true,
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => "/",
    getNewLine: () => "\n",
    fileExists: (name) => name === file.fileName,
    readFile: () => undefined,
  };
  const program = ts.createProgram([file.fileName], options, host);
  const replaceMeta = (context) => (root) => {
    const visit = (node) => {
      if (node.kind !== ts.SyntaxKind.MetaProperty || node.name.escapedText !== "meta") return ts.visitEachChild(node, visit, context);
      output.usesMeta = true;
      return context.factory.createIdentifier("__import_meta");
    };
    return /\bimport\s*\.\s*meta\b/.test(root.text) ? ts.visitNode(root, visit) : root;
  };
  program.emit(file, undefined, undefined, false, { before: hasMetaVariable ? [replaceMeta] : [] });
  return output;
}

function located({ messageText, start = 0 }, text, filename) {
  const message = load().flattenDiagnosticMessageText(messageText, " ");
  const before = text.slice(0, start).split("\n");
  const [line, column] = [before.length, before.at(-1).length];
  const error = new SyntaxError(message);
  error.stack = `${filename}:${line}\n${text.split("\n")[line - 1]}\n${" ".repeat(column)}^\n\nSyntaxError: ${message}`;
  return Object.assign(error, { [FAILED]: true, line, column });
}

const configurations = new Map();
const NONE = { options: {}, directory: undefined };

/** What the nearest tsconfig.json says. */
function configurationOf(filename) {
  let directory = path.dirname(filename);
  const passed = [];
  let found = configurations.get(directory);
  while (found === undefined) {
    passed.push(directory);
    // Node's own join() fails where code has replaced the methods of arrays.
    const file = `${directory}/tsconfig.json`;
    const parent = path.dirname(directory);
    if (path.basename(directory) === "node_modules") found = NONE;
    else if (fs.existsSync(file)) found = readConfiguration(file);
    else if (parent === directory) found = NONE;
    else found = configurations.get((directory = parent));
  }
  for (const each of passed) configurations.set(each, found);
  return found;
}

/** With what it extends. */
function readConfiguration(file) {
  const ts = load();
  const directory = path.dirname(file);
  const text = fs.readFileSync(file, "utf8");
  const { config, error } = ts.parseConfigFileTextToJson(file, text);
  const host = {
    useCaseSensitiveFileNames: true,
    fileExists: (name) => fs.existsSync(name),
    readFile: (name) => fs.readFileSync(name, "utf8"),
    readDirectory: () => [],
    directoryExists: (name) => fs.existsSync(name),
    getCurrentDirectory: () => directory,
    realpath: (name) => fs.realpathSync(name),
  };
  const { options, errors } = error === undefined ? ts.parseJsonConfigFileContent(config, host, directory, undefined, file) : { errors: [error] };
  // That it names no files is no trouble of ours; neither are settings that only a newer compiler knows.
  const problem = errors.find(({ code }) => ![18002, 18003, 5023, 6046].includes(code));
  if (problem !== undefined) throw located(problem, text, file);
  return { options, directory };
}

/** The files that an import may mean by the `paths` and the `baseUrl` of its tsconfig.json, the likeliest first. */
function mappedPaths(request, filename) {
  const { options, directory } = configurationOf(filename);
  const { paths, baseUrl } = options;
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(request) || (paths === undefined && baseUrl === undefined)) return [];
  const base = baseUrl ?? options.pathsBasePath ?? directory;
  const fits = Object.keys(paths ?? {})
    .map((pattern) => ({ pattern, parts: pattern.split("*") }))
    .filter(({ parts: [before, after] }) =>
      after === undefined ? request === before : request.length >= before.length + after.length && request.startsWith(before) && request.endsWith(after),
    )
    // An exact name first, then the longest beginning.
    .sort((a, b) => a.parts.length - b.parts.length || b.parts[0].length - a.parts[0].length);
  const mapped = fits.slice(0, 1).flatMap(({ pattern, parts: [before, after] }) => {
    const star = after === undefined ? "" : request.slice(before.length, request.length - after.length);
    return paths[pattern].map((target) => path.resolve(base, target.replace("*", () => star)));
  });
  return baseUrl === undefined ? mapped : [...mapped, path.resolve(baseUrl, request)];
}

/** Loads the compiler and has V8 compile what every file takes, before there is a program. */
function warmUp() {
  const text = "import { a } from './a';\nenum E { A = 1 }\nexport class C<T> { constructor(readonly x: T) {} }\nexport const f = async <T,>(x: T): Promise<T> => a(x as any)!;\n";
  for (let round = 0; round < 2; round++) compile(text, "/warm.ts", { configuration: NONE });
}

module.exports = { FAILED, compile, compileCell, createCache, mappedPaths, warmUp };

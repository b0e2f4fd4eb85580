"use strict";
// Lets this Node run TypeScript: `node --require <this file> main.ts`.
//
// Types are stripped by sucrase (sucrase.cjs beside this file, loaded at the first .ts), which keeps
// every line where it was, so stack traces need no source maps. Modules become CommonJS: it needs no
// loader thread, which on Node 20 costs more than the program. Top-level await in the entry file is
// an async function around it. Only a program that imports a package published as ES modules takes
// Node 20's ESM loader instead.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts"];
const TYPESCRIPT = /\.[cm]?tsx?$/;
const FAILED = Symbol("transform failed");

let sucrase;
let entryFile;
let entryCode;

delete require.cache[__filename];
for (const extension of EXTENSIONS) Module._extensions[extension] = loadTypescript;

const plainResolve = Module._resolveFilename;
Module._resolveFilename = function resolveFilename(request, parent, ...rest) {
  try {
    return plainResolve.call(this, request, parent, ...rest);
  } catch (error) {
    // `./x.js` means `./x.ts` where only that exists, as in the TypeScript compiler.
    const match = /^(\.{1,2}\/.*|\/.*)\.([cm]?)jsx?$/.exec(request);
    if (error.code !== "MODULE_NOT_FOUND" || !match || !TYPESCRIPT.test(parent?.filename ?? "")) throw error;
    for (const extension of [`.${match[2]}ts`, ".tsx"]) {
      try {
        return plainResolve.call(this, match[1] + extension, parent, ...rest);
      } catch {}
    }
    throw error;
  }
};

const plainRunMain = Module.runMain;
Module.runMain = function runMain(main = process.argv[1]) {
  const file = path.resolve(main);
  if (!TYPESCRIPT.test(file)) return plainRunMain.call(Module, main);
  Module.runMain = plainRunMain;
  if (!fs.existsSync(file)) return plainRunMain.call(Module, main);
  entryFile = fs.realpathSync(file);
  try {
    entryCode = toCommonJs(fs.readFileSync(entryFile, "utf8"), entryFile);
  } catch (error) {
    if (!error[FAILED]) throw error;
    fs.writeSync(2, `${error.stack}\n\nNode.js ${process.version}\n`);
    return process.exit(1);
  }
  return importsEsmPackage(entryFile) ? runAsEsm(entryFile) : Module._load(file, null, true);
};

// The parked runner finds it here.
Module.runMain.warmUp = warmUp;

/** Compiles one TypeScript file as CommonJS; also serves `require` and `import` of .ts files. */
function loadTypescript(module, filename) {
  let code = filename === entryFile ? entryCode : toCommonJs(fs.readFileSync(filename, "utf8"), filename);
  if (/\bimport\.meta\b/.test(code)) {
    code = `const __import_meta = { url: require("node:url").pathToFileURL(__filename).href, filename: __filename, dirname: __dirname };${code.replace(/\bimport\.meta\b/g, "__import_meta")}`;
  }
  if (filename === entryFile && /\bawait\b/.test(code) && usesTopLevelAwait(code)) {
    code = `return (async () => {${code}\n})();`;
  }
  module._compile(code, filename);
}

function toCommonJs(source, filename) {
  return transform(source, filename, ["typescript", "imports"]);
}

/** Strips types; a syntax error reads like one of Node's own, with file, line and a caret. */
function transform(source, filename, transforms) {
  sucrase ??= require("./sucrase.cjs");
  const text = source.startsWith("#!") ? `//${source}` : source;
  try {
    return sucrase.transform(text, {
      transforms: /x$/.test(filename) ? [...transforms, "jsx"] : transforms,
      disableESTransforms: true,
      injectCreateRequireForImportRequire: false,
      production: true,
    }).code;
  } catch (cause) {
    const [, message, line, column] = /^(.*?)\s*\((\d+):(\d+)\)$/s.exec(cause.message) ?? [null, cause.message, "1", "1"];
    const error = new SyntaxError(message.replace(/^Error transforming .*?: /, ""));
    const excerpt = source.split("\n")[Number(line) - 1] ?? "";
    error.stack = `${filename}:${line}\n${excerpt}\n${" ".repeat(Math.max(Number(column) - 1, 0))}^\n\nSyntaxError: ${error.message}`;
    error[FAILED] = true;
    throw error;
  }
}

/** Whether `code` is no CommonJS only because it awaits outside any function. */
function usesTopLevelAwait(code) {
  try {
    new vm.Script(Module.wrap(code));
    return false;
  } catch (error) {
    return /await is only valid|Unexpected (?:identifier|reserved word|strict mode reserved word)|missing \) after/.test(error.message);
  }
}

/** Whether the entry file imports a package that this Node cannot `require`. */
function importsEsmPackage(filename) {
  const source = fs.readFileSync(filename, "utf8");
  const require = Module.createRequire(filename);
  for (const [, name] of source.matchAll(/(?:from|import)\s*\(?\s*["']([^"'./][^"']*)["']/g)) {
    if (Module.isBuiltin(name)) continue;
    try {
      const file = require.resolve(name);
      if (process.features.require_module) continue;
      if (file.endsWith(".mjs") || (file.endsWith(".js") && packageType(path.dirname(file)) === "module")) return true;
    } catch (error) {
      if (error.code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return true;
    }
  }
  return false;
}

function packageType(directory) {
  for (let at = directory; ; at = path.dirname(at)) {
    const file = path.join(at, "package.json");
    if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, "utf8")).type;
    if (at === path.dirname(at)) return undefined;
  }
}

function runAsEsm(filename) {
  const { pathToFileURL } = require("node:url");
  Module.register(pathToFileURL(path.join(__dirname, "typescript-loader.mjs")));
  return import(pathToFileURL(filename).href);
}

/** Loads sucrase and compiles its hot paths before there is a program. */
function warmUp() {
  transform("import { a } from './a';\nenum E { A = 1 }\nexport const f = async <T,>(x: T): Promise<T> => x;\n", "warm.ts", ["typescript", "imports"]);
}

module.exports = { transform, warmUp };

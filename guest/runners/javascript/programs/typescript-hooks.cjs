"use strict";
// Lets this Node run TypeScript: `node --require <this file> main.ts`.
//
// typescript-compile.cjs makes JavaScript of what is loaded. Modules become CommonJS: it needs no loader thread, which on Node 20
// costs more than the program. Top-level await in the entry file is an async function around it. Only a program that imports a
// package published as ES modules, where Node cannot `require` one, takes the ESM loader instead.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");
const { FAILED, compile, mappedPaths, warmUp } = require("./typescript-compile.cjs");

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts"];
const TYPESCRIPT = /\.[cm]?tsx?$/;

let entryFile;
let entryCode;

delete require.cache[__filename];
for (const extension of EXTENSIONS) Module._extensions[extension] = loadTypescript;

const plainResolve = Module._resolveFilename;
Module._resolveFilename = function resolveFilename(request, parent, ...rest) {
  const isOurs = TYPESCRIPT.test(parent?.filename ?? "") && !Module.isBuiltin(request);
  for (const file of isOurs ? mappedPaths(request, parent.filename) : []) {
    try {
      return resolveFilename.call(this, file, parent, ...rest);
    } catch {
      // As in the TypeScript compiler: the next one, or a package.
    }
  }
  try {
    return plainResolve.call(this, request, parent, ...rest);
  } catch (error) {
    // `./x.js` means `./x.ts` where only that exists, as in the TypeScript compiler.
    const match = /^(\.{1,2}\/.*|\/.*)\.([cm]?)jsx?$/.exec(request);
    if (error.code !== "MODULE_NOT_FOUND" || !match || !isOurs) throw error;
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
    entryCode = toCommonJs(entryFile);
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
  const code = filename === entryFile ? entryCode : toCommonJs(filename);
  module._compile(filename === entryFile && /\bawait\b/.test(code) && usesTopLevelAwait(code) ? `return (async () => {${code}\n})();` : code, filename);
}

function toCommonJs(filename) {
  const { code, usesMeta } = compile(fs.readFileSync(filename, "utf8"), filename);
  if (!usesMeta) return code;
  return `const __import_meta = { url: require("node:url").pathToFileURL(__filename).href, filename: __filename, dirname: __dirname };${code}`;
}

/** Whether `code` awaits outside any function. To a function, `await (…)` is a call; a static block knows no such name. */
function usesTopLevelAwait(code) {
  return [Module.wrap(code), `class Outer { static {${code}\n} }`].some((wrapped) => {
    try {
      new vm.Script(wrapped);
      return false;
    } catch (error) {
      return /await is only valid|Unexpected (?:identifier|reserved word|strict mode reserved word)|missing \) after/.test(error.message);
    }
  });
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

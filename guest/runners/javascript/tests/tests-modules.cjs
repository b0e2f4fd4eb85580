"use strict";
// Lets tests find the solution by `./name`, with whatever extension they write, where there is no such file or another one.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const EXTENSION = /\.[cm]?[jt]sx?$/;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const EXPORTS = Symbol.for("skerry.solution");

/** From now on `./name` beside the file of tests is these exports, for `require` and for `import`. */
function provideModule({ file, name, exports, names, isModule }) {
  const place = path.join(path.dirname(file), name);
  const provided = new Module(place, null);
  Object.assign(provided, { exports, loaded: true, filename: place });
  Module._cache[place] = provided;
  resolveTo(place, place);
  if (!mayImport(file)) return;
  if (typeof Module.register !== "function") throw new Error("ES modules of tests need Node.js 20.6 or newer inside the sandbox");
  globalThis[EXPORTS] = exports;
  const data = { place: pathToFileURL(place).href, source: sourceOf(names, isModule) };
  Module.register(pathToFileURL(path.join(__dirname, "tests-loader.mjs")), { data });
}

/** From now on `require` of `place`, with any extension or none, is `target`. */
function resolveTo(place, target) {
  const plain = Module._resolveFilename;
  Module._resolveFilename = function resolveFilename(request, parent, ...rest) {
    const isPath = /^(?:\.{1,2}\/|\/)/.test(request);
    const wanted = isPath && path.resolve(path.dirname(parent?.filename ?? place), request);
    if (wanted && (wanted === place || wanted.replace(EXTENSION, "") === place)) return target;
    return plain.call(this, request, parent, ...rest);
  };
}

/** Threads of the loader cost more than most tests. */
function mayImport(file) {
  return /\.m[jt]s$/.test(file) || /\bimport\s*\(/.test(fs.readFileSync(file, "utf8"));
}

/** A module with the same exports. Of a CommonJS module everything is the default. */
function sourceOf(names, isModule) {
  if (!Array.isArray(names)) throw new TypeError("no names");
  const known = names.filter((each) => typeof each === "string" && IDENTIFIER.test(each) && each !== "default");
  const lines = known.map((each, index) => `const e${index} = m[${JSON.stringify(each)}];\nexport { e${index} as ${each} };`);
  const hasDefault = !isModule || names.includes("default");
  if (hasDefault) lines.push(isModule ? "export default m.default;" : "export default m;");
  return `const m = globalThis[Symbol.for("skerry.solution")];\n${lines.join("\n")}\n`;
}

module.exports = { mayImport, provideModule, resolveTo };

"use strict";
// A Node.js that keeps its state between pieces of code: see guest/runners/README.md, and python-context.py, which
// speaks the same with the host over descriptor 3. This part starts the runner, and the compiler of TypeScript, in a realm of
// their own: code may replace what the language has in its own.
const fs = require("node:fs");
const { createRequire, isBuiltin } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const vm = require("node:vm");

const realm = vm.createContext({ process, performance, Buffer, setTimeout, clearTimeout });
const NAMES = ["exports", "require", "module", "__filename", "__dirname", "globalThis", "process", "Buffer", "importer"];

class Script extends vm.Script {
  runInThisContext() {
    return this.runInContext(realm);
  }
}

/** A module of ours in that realm. */
function load(filename) {
  const script = new Script(`(function (${NAMES.join(", ")}) {${fs.readFileSync(filename, "utf8")}\n})`, { filename });
  const module = { exports: {} };
  const directory = path.dirname(filename);
  const requireHere = Object.assign((name) => {
    if (name.startsWith(".")) return load(path.join(directory, name));
    return name === "node:vm" ? { ...vm, Script } : require(name);
  }, { cache: require.cache });
  script.runInThisContext()(module.exports, requireHere, module, filename, directory, globalThis, process, Buffer, importer);
  return module.exports;
}

/** `import()` as from a module in the workspace, which is `here`. */
function importer(here) {
  const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  if (loader === undefined) {
    const require = createRequire(here);
    return (name) => import(/^(?:node:|file:|data:)/.test(name) || isBuiltin(name) ? name : pathToFileURL(require.resolve(name)).href);
  }
  return new vm.Script("(name, options) => import(name, options)", {
    filename: `${here}[context]`,
    importModuleDynamically: loader,
  }).runInThisContext();
}

load(path.join(__dirname, "node-context-runner.cjs"));

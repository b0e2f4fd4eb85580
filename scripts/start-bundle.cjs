#!/usr/bin/env node
// Starts the command's bundle with the code that V8 made of it at build time. Code of another version of Node is
// refused by V8 itself, and then compiled as usual.
const { readFileSync, writeFileSync } = require("node:fs");
const { join, dirname } = require("node:path");
const { Script } = require("node:vm");

const filename = join(__dirname, "bundle.cjs");
const cacheFile = `${filename}.cache`;
const source = readFileSync(filename, "utf8");
let cachedData;
try {
  cachedData = readFileSync(cacheFile);
} catch {
  // Not there in a package: it belongs to one version of Node.
}
const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
  filename,
  cachedData,
});
if (process.env.SKERRY_WRITE_CODE_CACHE === "1") {
  process.once("exit", () => writeFileSync(cacheFile, script.createCachedData()));
}
const loaded = { exports: {} };
script.runInThisContext().call(loaded.exports, loaded.exports, require, loaded, filename, dirname(filename));

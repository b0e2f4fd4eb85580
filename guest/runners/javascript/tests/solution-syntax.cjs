"use strict";
// Whether a file is a program at all, before anything of it runs.

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const Module = require("node:module");
const vm = require("node:vm");
const { cut } = require("../split-tests/split-errors.cjs");

/** Why the file is no program of its language; undefined: it is one. */
function findSyntaxError(file) {
  if (file.endsWith(".mjs")) {
    const { status, stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
    return status === 0 ? undefined : { message: /^\w*Error: .*$/m.exec(stderr)?.[0] ?? "SyntaxError", traceback: cut(stderr) };
  }
  const source = fs.readFileSync(file, "utf8");
  try {
    const isTypescript = /\.[cm]?tsx?$/.test(file);
    const code = isTypescript ? require("../programs/typescript-compile.cjs").compile(source, file).code : source;
    new vm.Script(Module.wrap(code.replace(/^#!/, "//")), { filename: file });
    return undefined;
  } catch (error) {
    return { message: `${error.name}: ${error.message}`, traceback: cut(String(error.stack)) };
  }
}

module.exports = { findSyntaxError };

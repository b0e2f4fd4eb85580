"use strict";
// Runs a solution for tests that are somewhere else: `node split-solution.cjs FILE`, a socket to the host on descriptor 3. It loads the
// file, says so, and does with it what the tests ask for. See guest/runners/README.md.

const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { cut, read, stackText } = require("./split-errors.cjs");
const { Link } = require("./split-link.cjs");
const { Solution } = require("./split-open.cjs");
const { isClass, Side } = require("./split-side.cjs");
const { letterOf } = require("./split-values.cjs");

const file = path.resolve(process.argv[2]);
const leave = process.exit.bind(process);
process.argv = [process.argv[0], file];

const guard = new Solution(() => side);
const side = new Side(guard);
const link = new Link({ serve: side.serve, broken: () => leave(1), ended: () => leave(0), staysAlive: true });
link.refuse = (problem) => side.answer("e", problem, [], []);
side.link = link;
guard.watchConsole();

function fail(error) {
  const message = error instanceof Error ? `${error.name}: ${read(error, "message")}` : `It threw ${String(error).slice(0, 200)}`;
  // What was thrown while the file ran has a frame in it.
  const isSyntax = error instanceof SyntaxError && !read(error, "stack").split("\n").some((line) => /^\s+at /.test(line) && line.includes(file));
  link.tell({ type: "failed", kind: isSyntax ? "syntax" : "error", message: cut(message), traceback: error instanceof Error ? stackText(error) : "" });
  leave(1);
}

async function load() {
  const isModule = file.endsWith(".mjs");
  const exports = isModule ? await import(pathToFileURL(file).href) : require(file);
  const kind = typeof exports === "function" ? "function" : letterOf(exports) === "d" || isModule ? "object" : "value";
  const names = Object(exports) === exports ? Object.keys(exports) : [];
  side.number(exports);
  guard.exports = exports;
  guard.loaded({ isModule, kind, isClass: kind === "function" && isClass(exports), names });
  link.tell({ type: "loaded" });
}

load().catch(fail);

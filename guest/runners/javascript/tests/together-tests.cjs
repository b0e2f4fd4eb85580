"use strict";
// Prepares a process for tests and their solution in one: `node --require together-tests.cjs --test-reporter tests-reporter.cjs FILE
// SOLUTION`, a socket to the host on descriptor 3. The solution can do anything to the tests here, and say anything to the host.

const { isMainThread } = require("node:worker_threads");

if (isMainThread) prepare();

function prepare() {
  const Module = require("node:module");
  const path = require("node:path");
  const { pathToFileURL } = require("node:url");
  const { findSyntaxError } = require("./solution-syntax.cjs");
  const { mayImport, resolveTo } = require("./tests-modules.cjs");
  const { report, watchLoading } = require("./tests-report.cjs");

  const file = path.resolve(process.argv[1]);
  const [solution] = process.argv.splice(2);
  const place = solution.replace(/\.[cm]?[jt]sx?$/, "");
  const problem = findSyntaxError(solution);
  if (problem !== undefined) {
    report.tell({ type: "failed", kind: "syntax", ...problem });
    process.exit(1);
  }
  watchLoading((error) => String(error?.stack).includes(solution));
  resolveTo(place, solution);
  if (mayImport(file) && typeof Module.register === "function") {
    const data = { place: pathToFileURL(place).href, target: pathToFileURL(solution).href };
    Module.register(pathToFileURL(path.join(__dirname, "tests-loader.mjs")), { data });
  }
}

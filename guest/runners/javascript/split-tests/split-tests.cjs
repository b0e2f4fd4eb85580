"use strict";
// Prepares a process for tests whose solution is somewhere else: `node --require split-tests.cjs --test-reporter tests-reporter.cjs FILE
// NAME`, a socket to the host on descriptor 3. `./NAME` is then a module that asks for everything. See guest/runners/README.md.

const { isMainThread } = require("node:worker_threads");

// `--require` also reaches threads.
if (isMainThread) prepare();

function prepare() {
  const path = require("node:path");
  const { Tests } = require("./split-guard.cjs");
  const { Link } = require("./split-link.cjs");
  const { Side } = require("./split-side.cjs");
  const { report, watchLoading } = require("../tests/tests-report.cjs");
  const { provideModule } = require("../tests/tests-modules.cjs");

  const file = path.resolve(process.argv[1]);
  const [name] = process.argv.splice(2);
  const exit = process.exit.bind(process);
  const side = new Side(new Tests(() => side));
  side.link = new Link({
    serve: side.serve,
    ended: () => exit(1),
    broken(what) {
      report.tell({ type: "violation", what: String(what).slice(0, 200) });
      exit(1);
    },
    staysAlive: false,
  });
  side.link.refuse = (problem) => side.answer("e", problem, [], []);
  stayWhileBusy(side, report);
  watchLoading((error) => side.isPeer(error) || isAboutExports(error, name));
  const { isModule, kind, isClass, names } = side.ask("module", null);
  const exports =
    kind === "function" ? side.find(["F", 1, name, isClass]) : kind === "object" ? side.find(["O", 1, 0, false]) : side.ask("exports", null);
  provideModule({ file, name, exports, names, isModule });
}

/**
 * Tests are over when each has ended, or nothing is left to do. What the solution has still to do counts while a test has not
 * ended: it may call a function of the tests, or settle a promise that they wait for.
 */
function stayWhileBusy(side, report) {
  const { link } = side;
  const emit = process.emit;
  let quietSince = -1;
  process.emit = function (name, ...args) {
    const isDone = report.open === 0 && report.count > 0 && !isLoading();
    if (name !== "beforeExit" || isDone || quietSince === link.heard) return emit.call(this, name, ...args);
    const { heard } = link;
    link.port.ref();
    side.request("idle", null).then(() => {
      link.port.unref();
      // Its own answer is one that was heard.
      quietSince = heard + 1;
    });
    return true;
  };
}

/** True while an ES module of the tests waits for something at its top: Node has this listener for that. */
function isLoading() {
  return process.listeners("exit").some((each) => each.name === "handleProcessExit");
}

/** True for the complaint that the solution does not export what the tests import. */
function isAboutExports(error, name) {
  return error instanceof SyntaxError && /does not provide an export named/.test(error.message) && error.message.includes(name);
}

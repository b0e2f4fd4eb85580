"use strict";
// What comes of tests, told to the host as it happens: tests-report.py in JavaScript.

const { inspect } = require("node:util");
const { writeAll } = require("../split-tests/split-link.cjs");
const { cut, read, stackText } = require("../split-tests/split-errors.cjs");

const MAX_SHOWN = 10_000;
const MAX_NAME = 500;

const report = {
  count: 0,
  /** How many tests have not ended. */
  open: 0,
  /** The runner has begun: it tells of whatever is thrown from now on. */
  hasBegun: false,
  tell(message) {
    const text = Buffer.from(`J${JSON.stringify(message)}`);
    const head = Buffer.alloc(4);
    head.writeUInt32LE(text.length);
    writeAll(Buffer.concat([head, text]));
  },
  found(name) {
    report.tell({ type: "found", tests: [name.slice(0, MAX_NAME)] });
    return report.count++;
  },
  ended(test, status, durationMs, problem = {}) {
    report.tell({ type: "result", test, status, durationMs: Math.max(0, durationMs || 0), ...problem });
  },
};

/** A failure as it is told: message, traceback, and what was compared. */
function problemOf(error) {
  if (!(error instanceof Error)) return { message: cut(`It threw ${shown(error)}`) };
  const isAssertion = error.code === "ERR_ASSERTION" && error.name === "AssertionError";
  const message = isAssertion ? read(error, "message") : `${read(error, "name")}: ${read(error, "message")}`;
  const compared = isAssertion && error.operator !== "fail" && "expected" in error;
  return {
    message: cut(message),
    traceback: stackText(error),
    ...(compared && { actual: shown(error.actual), expected: shown(error.expected) }),
  };
}

function shown(value) {
  try {
    const text = inspect(value, { depth: 6, maxArrayLength: 200, maxStringLength: MAX_SHOWN });
    return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
  } catch (problem) {
    return `<it cannot be shown: ${problem?.name}>`;
  }
}

/** Tells of tests that could not even be found, and of a file that has none. */
function watchLoading(isOfSolution) {
  report.tell({ type: "runner", runner: "node:test" });
  process.on("uncaughtExceptionMonitor", (error) => {
    if (report.hasBegun) return;
    report.hasBegun = true;
    report.tell({ type: "broken", name: require("node:path").basename(process.argv[1]), bySolution: isOfSolution(error) === true, ...problemOf(error) });
    report.tell({ type: "end" });
  });
  process.once("beforeExit", () => {
    if (!report.hasBegun) report.tell({ type: "end" });
  });
}

module.exports = { problemOf, report, watchLoading };

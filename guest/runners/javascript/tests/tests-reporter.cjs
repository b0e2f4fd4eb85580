"use strict";
// A reporter of node:test: tells the host of each test as it happens. A stream between the runner and us would be read too late:
// when a call of a test never comes back, the test would be unknown. So it listens to the runner itself.

const { Transform } = require("node:stream");
const { problemOf, report } = require("./tests-report.cjs");

/** Tests that were announced: by what the runner tells of them, since it gives them no number. */
const entries = [];
/** The one that runs now, by how deep it is nested. */
const running = [];

const HANDLERS = {
  "test:enqueue"(data) {
    const parent = data.nesting === 0 ? undefined : running[data.nesting - 1];
    if (parent !== undefined && !parent.isGroup) {
      parent.isGroup = true;
      report.tell({ type: "group", test: parent.number });
    }
    const path = [...(parent?.path ?? []), String(data.name)];
    report.open++;
    entries.push({ number: report.found(path.join(" > ")), path, ...placeOf(data), state: "found", isGroup: false });
  },
  "test:dequeue"(data) {
    const entry = find(data, "found");
    if (entry === undefined) return;
    entry.state = "running";
    running[data.nesting] = entry;
    report.tell({ type: "start", test: entry.number });
  },
  "test:pass": (data) => end(data),
  "test:fail": (data) => end(data),
};

function end(data) {
  const { details = {} } = data;
  const entry = find(data, "running") ?? find(data, "found");
  if (entry === undefined) return;
  entry.state = "ended";
  report.open--;
  const { error } = details;
  const isSuite = details.type === "suite";
  // A suite is no test, unless it failed by itself.
  if (isSuite && (error === undefined || error.failureType === "subtestsFailed")) {
    if (!entry.isGroup) report.tell({ type: "group", test: entry.number });
    return;
  }
  if (data.skip !== undefined && data.skip !== false) return report.ended(entry.number, "skipped", details.duration_ms, reasonOf(data.skip, "skipped"));
  if (data.todo !== undefined && data.todo !== false) return report.ended(entry.number, "skipped", details.duration_ms, reasonOf(data.todo, "to do"));
  if (error === undefined) return report.ended(entry.number, "passed", details.duration_ms);
  const isOwn = error.failureType === "testCodeFailure" || error.failureType === "subtestsFailed";
  report.ended(entry.number, isOwn ? "failed" : "error", details.duration_ms, problemOf(causeOf(error)));
}

/** The runner puts what was thrown into an error of its own. */
function causeOf(error) {
  return error.code === "ERR_TEST_FAILURE" && error.cause instanceof Error ? error.cause : error;
}

function reasonOf(given, plain) {
  return { message: typeof given === "string" ? given.slice(0, 1000) : plain };
}

function placeOf({ nesting, name, line, column, file }) {
  return { key: JSON.stringify([nesting, name, line, column, file]) };
}

function find(data, state) {
  const { key } = placeOf(data);
  return entries.find((entry) => entry.state === state && entry.key === key);
}

let isListening = false;
const reporter = new Transform({
  writableObjectMode: true,
  transform(event, _, done) {
    if (!isListening) HANDLERS[event.type]?.(event.data);
    done();
  },
  flush(done) {
    report.tell({ type: "end" });
    done();
  },
});
reporter.on("pipe", (runner) => {
  report.hasBegun = true;
  isListening = true;
  for (const [type, handle] of Object.entries(HANDLERS)) runner.on(type, handle);
});

module.exports = reporter;

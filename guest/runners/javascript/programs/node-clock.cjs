"use strict";
// What a parked Node shows of time that begins with the process, without the time that it waited: see node-runner.cjs.
// Node keeps its origin where no script can reach it, so each way to it is led through here.

const { getEnvironmentData, setEnvironmentData } = require("node:worker_threads");

delete require.cache[__filename];

/** By which threads of the program know it, too. */
const KEY = "skerry.waited";
/** When the waiting began, and how long it took, by Node's own clock. */
let since = Number.POSITIVE_INFINITY;
let waited = 0;
let plainNow;

/** A time of Node's as the program sees it, and the other way round; what was before the waiting stays. */
const shown = (time) => (time <= since ? time : Math.max(since, time - waited));
const given = (time) => (typeof time === "number" && time > since ? time + waited : time);

/** From now on this process waits. */
function startWaiting() {
  replace(process, "uptime", time((seconds) => shown(seconds * 1000) / 1000));
  hide();
  since = plainNow();
}

function stopWaiting() {
  waited = plainNow() - since;
  setEnvironmentData(KEY, waited);
}

/** A thread has an origin of its own; only the process was there before. */
function startThread() {
  const waitedMs = getEnvironmentData(KEY) ?? 0;
  replace(process, "uptime", time((seconds) => seconds - waitedMs / 1000));
}

/** Puts something in the place of a method or getter, wherever up the chain it is; it looks like the original. */
function replace(object, name, wrap) {
  for (let holder = object; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const found = Object.getOwnPropertyDescriptor(holder, name);
    if (found === undefined) continue;
    const kind = found.get === undefined ? "value" : "get";
    const plain = found[kind];
    const wrapped = wrap(plain);
    for (const each of ["name", "length"]) Object.defineProperty(wrapped, each, { value: plain[each], configurable: true });
    Object.defineProperty(holder, name, { ...found, [kind]: wrapped });
    return;
  }
}

// Methods have no `prototype`, as Node's own have none.

function time(change) {
  return (plain) => ({ get() { return change(Reflect.apply(plain, this, []), this); } }).get;
}

function hide() {
  // Loaded here: threads need none of it.
  const { performance, PerformanceEntry } = require("node:perf_hooks");
  plainNow = performance.now.bind(performance);
  replace(performance, "now", time(shown));
  replace(performance, "timeOrigin", time((origin) => origin + waited));
  replace(Event.prototype, "timeStamp", time(shown));
  // Entries keep Node's times; what a program says of times is in its own.
  const { get: start } = Object.getOwnPropertyDescriptor(PerformanceEntry.prototype, "startTime");
  const startOf = (entry) => Reflect.apply(start, entry, []);
  replace(PerformanceEntry.prototype, "startTime", time(shown));
  replace(PerformanceEntry.prototype, "duration", time((duration, entry) => shown(startOf(entry) + duration) - shown(startOf(entry))));
  replace(PerformanceEntry.prototype, "toJSON", time((all, { startTime, duration }) => ({ ...all, startTime, duration })));
  for (const name of ["mark", "measure"]) {
    replace(performance, name, (plain) => ({ call(...args) { return Reflect.apply(plain, this, args.map(withTimes)); } }).call);
  }
  const { nodeTiming } = performance;
  for (const name of ["duration", "loopStart", "loopExit", "bootstrapComplete"]) replace(nodeTiming, name, time(shown));
}

function withTimes(options) {
  if (typeof options !== "object" || options === null) return options;
  const times = ["startTime", "start", "end"].filter((name) => typeof options[name] === "number");
  return times.length === 0 ? options : { ...options, ...Object.fromEntries(times.map((name) => [name, given(options[name])])) };
}

module.exports = { startThread, startWaiting, stopWaiting };

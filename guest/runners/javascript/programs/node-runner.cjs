"use strict";
// A parked Node: starts ahead of time, waits for one job, and becomes `node path args`.
//
// Start it as `node --require <this file> <this file>`, control socket on descriptor 3; for TypeScript
// put `--require typescript-hooks.cjs` first. Plain `node <this file> [--typescript]` works as well, but
// then stack traces end in our frames, and worker threads cannot be TypeScript.
// As a preload it waits *before* Node calls `Module.runMain`, so the program is started by Node's own
// main script and no frame of ours is below it. Messages are described in guest/runners/README.md.

const { isMainThread } = require("node:worker_threads");

const CONTROL = 3;
const MAX_JOB = 1 << 20;

// Settings that Node, V8, ICU, OpenSSL or libc read only while the process starts.
const START_ENV =
  /^(?:NODE_(?:OPTIONS|DEBUG.*|EXTRA_CA_CERTS|ICU_DATA|NO_WARNINGS|PENDING_DEPRECATION|PRESERVE_SYMLINKS.*|REDIRECT_WARNINGS|V8_COVERAGE|COMPILE_CACHE.*|DISABLE_COMPILE_CACHE|USE_ENV_PROXY|USE_SYSTEM_CA)|OPENSSL_.*|SSL_CERT_.*|LD_.*|MALLOC_.*|GLIBC_.*|UV_USE_IO_URING|LC_ALL|LC_MESSAGES|LANG)$/;

delete require.cache[__filename];
// `--require` also reaches the program's worker threads, where there is only the trace to remove.
if (!isMainThread) {
  hideRunner();
  require("./node-clock.cjs").startThread();
}
else if (process.argv[1] === __filename) {
  const loadedAsMain = require.main === module;
  if (loadedAsMain && process.argv.includes("--typescript")) require("./typescript-hooks.cjs");
  park();
  if (loadedAsMain) require("node:module").runMain();
}

/** What the program's own processes need to be TypeScript stays, as in a plain start. */
function hideRunner() {
  const at = process.execArgv.indexOf(__filename);
  if (at > 0) process.execArgv.splice(at - 1, 2);
}

/** Blocks until there is a job, then arranges for Node to run it as its main program. */
function park() {
  const fs = require("node:fs");
  const Module = require("node:module");
  const path = require("node:path");
  const startEnv = { ...process.env };

  warmUp();
  Module.runMain.warmUp?.();
  const clock = require("./node-clock.cjs");
  clock.startWaiting();
  fs.writeSync(CONTROL, "R");
  const job = receiveJob(fs);
  clock.stopWaiting();
  const obstacle = firstDifference(startEnv, job.env);
  if (obstacle) {
    fs.writeSync(CONTROL, `E${obstacle} needs a cold start`);
    process.reallyExit(0);
  }
  fs.closeSync(CONTROL);
  become(job, Module, path);

  // Node looks `runMain` up once. A bound function leaves no frame, and putting the original back
  // before the call keeps its name in stack traces.
  const plain = Module.runMain;
  const run = plain.bind(Module, process.argv[1]);
  const property = { configurable: true, enumerable: true };
  Object.defineProperty(Module, "runMain", {
    ...property,
    get() {
      Object.defineProperty(Module, "runMain", { ...property, writable: true, value: plain });
      return run;
    },
  });
}

/** Reads the one job; the end of the conversation means that this process is not needed any more. */
function receiveJob(fs) {
  const buffer = Buffer.allocUnsafeSlow(MAX_JOB);
  let size = 0;
  try {
    size = fs.readSync(CONTROL, buffer, 0, MAX_JOB, null);
  } catch {}
  if (size === 0) process.reallyExit(0);
  try {
    const { path, argv, cwd, env } = JSON.parse(buffer.toString("utf8", 0, size));
    if (typeof path === "string" && typeof cwd === "string" && Array.isArray(argv) && env && typeof env === "object") {
      return { path, argv, cwd, env };
    }
  } catch {}
  fs.writeSync(CONTROL, "Eexpected a job with path, argv, cwd and env");
  return process.reallyExit(0);
}

/** Names a start-time setting in which the job differs from this process. */
function firstDifference(startEnv, env) {
  const names = [...Object.keys(startEnv), ...Object.keys(env)];
  return names.find((name) => START_ENV.test(name) && (startEnv[name] ?? "") !== (env[name] ?? ""));
}

/** Takes on the job's directory, environment and arguments. */
function become({ path: file, argv, cwd, env }, Module, path) {
  process.chdir(cwd);
  for (const key of Object.keys(process.env)) delete process.env[key];
  for (const key of Object.keys(env)) process.env[key] = env[key];
  process.argv.length = 1;
  process.argv.push(path.resolve(file), ...argv.slice(1));
  hideRunner();
  Module._initPaths(); // HOME and NODE_PATH
}

/** Loads what nearly every program makes Node load, without creating anything a program could see. */
function warmUp() {
  for (const name of ["events", "util", "stream", "net", "tty", "url", "buffer", "timers", "vm", "child_process", "fs/promises"]) {
    require(`node:${name}`);
  }
  const { inspect } = require("node:util");
  inspect({ a: [1, "x", null, new Map([[1, new Error("warm").stack]])] });
}

// Runs the tests that draw at random, kill or race, a few files at a time, in another order and with another seed each time,
// until the minutes are over. Those of the soak take part in an hour or more.
//   npm run test:explore -- [--minutes N] [test files]
import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

const USAGE = "usage: npm run test:explore -- [--minutes N] [test files]";

const FILES_AT_ONCE = 12;
const MINUTES_WITH_SOAK = 60;
const VITEST = "node_modules/vitest/vitest.mjs";

const { minutes, files } = readArguments();
const suite = files.length > 0 ? "all" : minutes >= MINUTES_WITH_SOAK ? "explore-soak" : "explore";
const ends = Date.now() + minutes * 60_000;
const directory = mkdtempSync(join(tmpdir(), "skerry-explore-"));
const totals = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
let stopped = false;
let running;
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    stopped = true;
    running?.kill(signal);
  });

const candidates = findFiles();
const queue = [];
for (let run = 1; Date.now() < ends && !stopped; run++) {
  if (queue.length === 0) queue.push(...shuffled(candidates));
  const seed = randomInt(2 ** 31);
  const left = Math.ceil((ends - Date.now()) / 60_000);
  console.log(`skerry: run ${run}, SKERRY_TEST_SEED=${seed}, ${left} min left`);
  await explore(seed, queue.splice(0, FILES_AT_ONCE));
}
rmSync(directory, { recursive: true, force: true });
for (const { seed, file, test } of failures)
  console.log(`failed: ${file} > ${test}\n  SKERRY_TEST_SEED=${seed} npx vitest run ${file}`);
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = stopped ? 130 : totals.failed > 0 ? 1 : 0;

/** The test files that are named, or all there are to explore. */
function findFiles() {
  const env = { ...process.env, SKERRY_TEST_SUITE: suite };
  const list = join(directory, "files.json");
  const args = [VITEST, "list", "--filesOnly", `--json=${list}`, ...files];
  execFileSync(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const listed = JSON.parse(readFileSync(list, "utf8"));
  const found = [...new Set(listed.map(({ file }) => relative(process.cwd(), file)))];
  if (found.length > 0) return found;
  rmSync(directory, { recursive: true });
  console.error(`skerry: no test file matches ${files.join(" ")}\nhint: ${USAGE}`);
  process.exit(2);
}

function shuffled(paths) {
  return paths
    .map((path) => ({ path, at: randomInt(2 ** 31) }))
    .sort((one, other) => one.at - other.at)
    .map(({ path }) => path);
}

/** One run. What fails goes to `failures`, and a run that breaks off counts as one failure. */
async function explore(seed, paths) {
  const report = join(directory, "report.json");
  rmSync(report, { force: true });
  const args = [VITEST, "run", "--reporter=json", `--outputFile=${report}`, ...paths];
  const env = { ...process.env, SKERRY_TEST_SUITE: suite, SKERRY_TEST_SEED: String(seed) };
  running = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const status = await new Promise((resolve) => running.once("exit", resolve));
  if (stopped) return;
  const result = readReport(report);
  totals.passed += result.numPassedTests;
  totals.skipped += result.numPendingTests + result.numTodoTests;
  const before = failures.length;
  for (const { name, status, message, assertionResults } of result.testResults) {
    const file = name.slice(process.cwd().length + 1);
    const failed = assertionResults.filter((each) => each.status === "failed");
    if (status === "failed" && failed.length === 0) note(seed, file, "the whole file", message);
    for (const each of failed) note(seed, file, each.fullName, each.failureMessages.join("\n"));
  }
  if (status !== 0 && failures.length === before)
    note(seed, paths.join(" "), "the run", `Vitest ended with ${status}`);
}

function note(seed, file, test, message) {
  totals.failed++;
  failures.push({ seed, file, test });
  console.log(`failed: ${file} > ${test}\n${message}\n`);
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { numPassedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}

function readArguments() {
  try {
    const options = { minutes: { type: "string", default: "10" }, help: { type: "boolean", short: "h" } };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes has to be a number above 0, and is ${values.minutes}`);
    return { minutes, files: positionals };
  } catch (error) {
    console.error(`skerry: ${error.message}\nhint: ${USAGE}`);
    process.exit(2);
  }
}

// Runs every test that draws at random or races, with another seed each time, until the minutes are over.
//   npm run test:explore -- [--minutes N] [test files]
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const USAGE = "usage: npm run test:explore -- [--minutes N] [test files]";

const { minutes, files } = readArguments();
const ends = Date.now() + minutes * 60_000;
const directory = mkdtempSync(join(tmpdir(), "skerry-explore-"));
const totals = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    stopped = true;
  });

for (let round = 1; Date.now() < ends && !stopped; round++) {
  const seed = randomInt(2 ** 31);
  const left = Math.ceil((ends - Date.now()) / 60_000);
  console.log(`skerry: round ${round}, SKERRY_TEST_SEED=${seed}, ${left} min left`);
  await run(seed);
}
rmSync(directory, { recursive: true, force: true });
for (const { seed, file, test } of failures)
  console.log(`failed: ${file} > ${test}\n  SKERRY_TEST_SEED=${seed} npx vitest run ${file}`);
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = stopped ? 130 : totals.failed > 0 ? 1 : 0;

/** One round. What fails goes to `failures`, and a run that breaks off counts as one failure. */
async function run(seed) {
  const report = join(directory, "report.json");
  rmSync(report, { force: true });
  const args = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=json",
    `--outputFile=${report}`,
    ...files,
  ];
  const env = { ...process.env, SKERRY_TEST_SUITE: "explore", SKERRY_TEST_SEED: String(seed) };
  const vitest = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const status = await new Promise((resolve) => vitest.once("exit", resolve));
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
  if (status !== 0 && failures.length === before) note(seed, ".", "the run", `Vitest ended with ${status}`);
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

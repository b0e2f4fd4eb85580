import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CELLS, type Cell } from "./cells.js";
import { type Caller, Machine, type MachineOptions, openShell } from "./machine.js";
import { runCells, type SuiteResult } from "./matrix.js";
import { addRecord, factsOf, isRecorded, isUnchangedSince, readRecords } from "./records.js";
import { closingLine, countCases, writeDocuments } from "./results.js";
import { ensureRootImage, KERNELS, type Kernel, makeWorkImage } from "./root-image.js";

// run.sh bundles it for this one run.
rmSync(import.meta.filename);
const CHECKOUT = resolve(import.meta.dirname, "../..");
const SOURCES = join(CHECKOUT, "test/vm");
const IMAGES = join(CHECKOUT, "build/vm");
/** What came of each suite the last time, for the documents and `--resume`; kept in the repository. */
const RECORDS = join(SOURCES, "records.json");
const CALLERS: readonly Caller[] = ["root", "login", "plain", "service"];
const MEMORY_MB = 3072;
const BOOT_SECONDS = 1800;

const startedAt = Date.now();
const say = (text: string) => {
  const seconds = String(Math.round((Date.now() - startedAt) / 1000));
  console.log(`${seconds.padStart(5)}s ${text}`);
};

const { values: options } = parseArgs({
  options: {
    cell: { type: "string", multiple: true },
    kernel: { type: "string", multiple: true },
    suite: { type: "string", multiple: true },
    list: { type: "boolean", default: false },
    resume: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    checkout: { type: "string", default: CHECKOUT },
    exec: { type: "string" },
    as: { type: "string", default: "root" },
    timeout: { type: "string", default: "1800" },
    shell: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
  },
});

/** The values of an option that may be given several times; all of them if it is not. */
function chosen<T extends string>(option: string, given: string[] | undefined, known: readonly T[]): T[] {
  const unknown = given?.find((each) => !known.includes(each as T));
  if (unknown !== undefined) throw new Error(`--${option} ${unknown}: there are ${known.join(", ")}`);
  return known.filter((each) => given?.includes(each) ?? true);
}

async function main(): Promise<number> {
  const names = chosen(
    "cell",
    options.cell,
    CELLS.map(({ name }) => name),
  );
  const suiteNames = [...new Set(CELLS.flatMap(({ suites }) => suites.map(({ name }) => name)))];
  const suites = chosen("suite", options.suite, suiteNames);
  const kernels = chosen("kernel", options.kernel, KERNELS);
  const [as] = chosen("as", [options.as], CALLERS);
  const cells = CELLS.filter(({ name }) => names.includes(name)).map((cell) => ({
    ...cell,
    suites: cell.suites.filter(({ name }) => suites.includes(name)),
  }));
  if (options.list) {
    for (const { name, title, suites } of cells)
      console.log(`${name.padEnd(16)}${title}: ${suites.map((suite) => suite.name).join(", ")}`);
    return 0;
  }

  const wantedOf = (kernel: Kernel) => (options.resume ? withoutRecorded(cells, kernel) : cells);
  const isWanted = kernels.some((kernel) => wantedOf(kernel).length > 0);
  if (options.exec === undefined && !options.shell && !isWanted) {
    say("every suite is recorded");
    return close([]);
  }
  const root = await ensureRootImage({ directory: IMAGES, sources: SOURCES });
  const directory = join(IMAGES, `run.${process.pid}`);
  mkdirSync(directory);
  const end = (status: number) => {
    if (options.keep) say(`kept: ${directory}`);
    else rmSync(directory, { recursive: true, force: true });
    return status;
  };
  // The machine ends with this process.
  process.once("SIGINT", () => process.exit(end(130))).once("SIGTERM", () => process.exit(end(143)));
  try {
    const work = join(directory, "work.img");
    await makeWorkImage(SOURCES, resolve(options.checkout), work);
    const machine = (kernel: Kernel): MachineOptions => ({
      ...{ root, kernel, work, directory },
      ...{ memoryMb: MEMORY_MB, bootSeconds: BOOT_SECONDS },
    });
    const one = machine(kernels.at(-1)!);
    if (options.shell) return await openShell(one).then(() => 0);
    if (options.exec !== undefined) return await execute(one, as!, options.exec);
    const results: SuiteResult[] = [];
    const facts = factsOf(resolve(options.checkout));
    const ended = (result: SuiteResult) => {
      results.push(result);
      addRecord(RECORDS, result, facts);
    };
    for (const kernel of kernels) await runCells(wantedOf(kernel), machine(kernel), { say, ended });
    return close(results);
  } finally {
    end(0);
  }
}

async function execute(machineOptions: MachineOptions, as: Caller, command: string): Promise<number> {
  say("booting");
  const machine = await Machine.boot(machineOptions);
  try {
    say(`ready: ${machine.name.system}, ${machine.name.kernel}`);
    const order = { as, command, timeoutSeconds: Number(options.timeout) };
    const { status, seconds } = await machine.run(order, say);
    say(`status ${status} after ${seconds} s`);
    return status;
  } finally {
    await machine.close();
  }
}

/** What has not passed yet, with what is tested as it stands now. */
function withoutRecorded(cells: readonly Cell[], kernel: Kernel): Cell[] {
  const records = readRecords(RECORDS);
  const known = new Map<string, boolean>();
  const isCurrent = (commit: string) => {
    const current = known.get(commit) ?? isUnchangedSince(resolve(options.checkout), commit);
    known.set(commit, current);
    return current;
  };
  return cells
    .map((cell) => ({
      ...cell,
      suites: cell.suites.filter(
        ({ name: suite }) => !isRecorded(records, { cell: cell.name, suite, kernel }, isCurrent),
      ),
    }))
    .filter(({ suites }) => suites.length > 0);
}

/** Every suite in JSON, and the closing line. */
function close(results: readonly SuiteResult[]): number {
  writeFileSync(join(IMAGES, "results.json"), `${JSON.stringify(results, undefined, 2)}\n`);
  for (const { cell, suite, kernel, seconds, cases } of results)
    console.log(JSON.stringify({ cell, suite, kernel, seconds, ...countCases(cases) }));
  if (options.write) writeDocuments(CHECKOUT, readRecords(RECORDS));
  const counts = countCases(results.flatMap(({ cases }) => cases));
  console.log(closingLine(counts));
  return counts.failed === 0 && (counts.passed > 0 || options.resume) ? 0 : 1;
}

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message);
  console.log("0 passed, 1 failed");
  return 1;
});

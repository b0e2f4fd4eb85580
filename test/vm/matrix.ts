import type { Cell, Suite } from "./cells.js";
import { Machine, type MachineOptions, type Order } from "./machine.js";

/** What came of one test of a suite, as `suites/report.mjs` prints it. */
export interface CaseResult {
  readonly suite: string;
  readonly title: string;
  readonly skip?: string;
  readonly error?: string;
  readonly seconds: number;
}

/** What came of one cell on one system. */
export interface CellResult {
  readonly cell: string;
  readonly system: string;
  readonly kernel: string;
  readonly seconds: number;
  readonly cases: readonly CaseResult[];
}

type Say = (text: string) => void;

/** Runs cells one after the other; each in a machine of its own if the one before broke it. */
export async function runCells(
  cells: readonly Cell[],
  options: MachineOptions,
  say: Say,
): Promise<CellResult[]> {
  const results: CellResult[] = [];
  let machine: Machine | undefined;
  try {
    for (const cell of cells) {
      const startedAt = Date.now();
      const cases: CaseResult[] = [];
      let name = { system: "no machine", kernel: options.kernel as string };
      try {
        machine ??= await boot(options, say);
        name = machine.name;
        await runCell(cell, machine, cases, say);
      } catch (error) {
        say(`${cell.name}: ${(error as Error).message}`);
        cases.push({ suite: "machine", title: "goes on until the end", error: String(error), seconds: 0 });
        await machine?.close();
        machine = undefined;
      }
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      results.push({ cell: cell.name, ...name, seconds, cases });
    }
  } finally {
    await machine?.close();
  }
  return results;
}

async function boot(options: MachineOptions, say: Say): Promise<Machine> {
  say(`booting kernel ${options.kernel}`);
  const machine = await Machine.boot(options);
  say(`ready: ${machine.name.system}, ${machine.name.kernel}`);
  return machine;
}

async function runCell(cell: Cell, machine: Machine, cases: CaseResult[], say: Say): Promise<void> {
  if (cell.setUp !== undefined) await asRoot(machine, cell.setUp, say);
  await asRoot(machine, "node /work/suites/leaks.mjs before", say);
  for (const suite of cell.suites) await runSuite(suite, cell, machine, cases, say);
  const leaks = { name: "leaks", command: "node /work/suites/leaks.mjs after", timeoutSeconds: 600 };
  await runSuite(leaks, { ...cell, as: "root" }, machine, cases, say);
  if (cell.tearDown !== undefined) await asRoot(machine, cell.tearDown, say);
}

async function asRoot(machine: Machine, command: string, say: Say): Promise<void> {
  const { status } = await machine.run({ as: "root", command, timeoutSeconds: 600 }, say);
  if (status !== 0) throw new Error(`${command}: status ${status}`);
}

async function runSuite(
  suite: Suite,
  cell: Cell,
  machine: Machine,
  cases: CaseResult[],
  say: Say,
): Promise<void> {
  const where = `${cell.name}: ${suite.name}`;
  const order: Order = { as: cell.as, command: suite.command, timeoutSeconds: suite.timeoutSeconds };
  let count = 0;
  const { status, seconds } = await machine.run(order, (line) => {
    const result = parseCase(line, suite.name);
    if (result === undefined) return say(`${where}: ${line}`);
    count += 1;
    cases.push(result);
    say(`${where}: ${describe(result)}`);
  });
  // Nothing that ran is nothing that was tested, and the rest of a suite that was cut short was not.
  if (status !== 0 || count === 0) {
    const title = status === 124 ? `ends within ${suite.timeoutSeconds} seconds` : "runs to its end";
    const error = `status ${status} after ${count} tests`;
    cases.push({ suite: suite.name, title, error, seconds });
    say(`${where}: failed: ${title}: ${error}`);
  }
}

function parseCase(line: string, suite: string): CaseResult | undefined {
  if (!line.startsWith('{"title":')) return undefined;
  return { suite, ...(JSON.parse(line) as Omit<CaseResult, "suite">) };
}

function describe({ title, skip, error, seconds }: CaseResult): string {
  if (skip !== undefined) return `skipped: ${title} (${skip})`;
  if (error !== undefined)
    return `failed: ${title} (${seconds} s)\n        ${error.replaceAll("\n", "\n        ")}`;
  return `passed: ${title} (${seconds} s)`;
}

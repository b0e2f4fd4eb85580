import type { Cell, Suite } from "./cells.js";
import { Machine, type MachineOptions, type Order } from "./machine.js";

/** What came of one test of a suite, as `suites/report.mjs` prints it. */
export interface CaseResult {
  readonly title: string;
  readonly skip?: string;
  readonly error?: string;
  readonly seconds: number;
}

/** What came of one suite of a cell on one system. */
export interface SuiteResult {
  readonly cell: string;
  readonly suite: string;
  readonly system: string;
  readonly kernel: string;
  readonly seconds: number;
  readonly cases: readonly CaseResult[];
}

/** Where a run tells what it does, and what came of each suite as soon as that is known. */
export interface Listener {
  say(text: string): void;
  ended(result: SuiteResult): void;
}

type Say = Listener["say"];

/** Runs cells one after the other; each in a machine of its own if the one before broke it. */
export async function runCells(
  cells: readonly Cell[],
  options: MachineOptions,
  listener: Listener,
): Promise<void> {
  let machine: Machine | undefined;
  try {
    for (const cell of cells) {
      const running = { suite: "machine" };
      let name = { system: "no machine", kernel: options.kernel as string };
      try {
        machine ??= await boot(options, listener.say);
        name = machine.name;
        await runCell(cell, machine, running, listener);
      } catch (error) {
        listener.say(`${cell.name}: ${(error as Error).message}`);
        const cases = [{ title: "goes on until the end", error: String(error), seconds: 0 }];
        listener.ended({ cell: cell.name, ...running, ...name, seconds: 0, cases });
        await machine?.close();
        machine = undefined;
      }
    }
  } finally {
    await machine?.close();
  }
}

async function boot(options: MachineOptions, say: Say): Promise<Machine> {
  say(`booting kernel ${options.kernel}`);
  const machine = await Machine.boot(options);
  say(`ready: ${machine.name.system}, ${machine.name.kernel}`);
  return machine;
}

/** The suites of a cell, and what they left behind; `running` names the one at work. */
async function runCell(
  cell: Cell,
  machine: Machine,
  running: { suite: string },
  listener: Listener,
): Promise<void> {
  if (cell.setUp !== undefined) await asRoot(machine, cell.setUp, listener.say);
  await asRoot(machine, "node /work/suites/leaks.mjs before", listener.say);
  const leaks = { name: "leaks", command: "node /work/suites/leaks.mjs after", timeoutSeconds: 600 };
  for (const suite of [...cell.suites, leaks]) {
    running.suite = suite.name;
    const as = suite === leaks ? "root" : cell.as;
    const startedAt = Date.now();
    const cases = await runSuite(suite, { ...cell, as }, machine, listener.say);
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    listener.ended({ cell: cell.name, suite: suite.name, ...machine.name, seconds, cases });
  }
  if (cell.tearDown !== undefined) await asRoot(machine, cell.tearDown, listener.say);
}

async function asRoot(machine: Machine, command: string, say: Say): Promise<void> {
  const { status } = await machine.run({ as: "root", command, timeoutSeconds: 600 }, say);
  if (status !== 0) throw new Error(`${command}: status ${status}`);
}

async function runSuite(suite: Suite, cell: Cell, machine: Machine, say: Say): Promise<CaseResult[]> {
  const where = `${cell.name}: ${suite.name}`;
  const order: Order = { as: cell.as, command: suite.command, timeoutSeconds: suite.timeoutSeconds };
  const cases: CaseResult[] = [];
  const { status, seconds } = await machine.run(order, (line) => {
    const result = parseCase(line);
    if (result === undefined) return say(`${where}: ${line}`);
    cases.push(result);
    say(`${where}: ${describe(result)}`);
  });
  // Nothing that ran is nothing that was tested, and the rest of a suite that was cut short was not.
  if (status !== 0 || cases.length === 0) {
    const title = status === 124 ? `ends within ${suite.timeoutSeconds} seconds` : "runs to its end";
    const error = `status ${status} after ${cases.length} tests`;
    cases.push({ title, error, seconds });
    say(`${where}: failed: ${title}: ${error}`);
  }
  return cases;
}

function parseCase(line: string): CaseResult | undefined {
  return line.startsWith('{"title":') ? (JSON.parse(line) as CaseResult) : undefined;
}

function describe({ title, skip, error, seconds }: CaseResult): string {
  if (skip !== undefined) return `skipped: ${title} (${skip})`;
  if (error !== undefined)
    return `failed: ${title} (${seconds} s)\n        ${error.replaceAll("\n", "\n        ")}`;
  return `passed: ${title} (${seconds} s)`;
}

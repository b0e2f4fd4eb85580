import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseCases, type TestCase, TestDrivenSandbox } from "../../../core/tools/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { findLanguageWith, languagesWith, type TestingLanguage } from "../../../runtime/sandbox/index.js";
import type { ExecuteOptions, Transfer } from "../../definition/index.js";
import { guessLanguage, Interrupt, readText, requireFile } from "../../input/index.js";
import { identityOf, openGuardedManager, readConfig } from "../../open/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";
import { failureLines, statusOfReport, summaryLine, testLine } from "./report-text.js";

export interface TestCommandOptions extends ExecuteOptions {
  readonly tests?: string;
  readonly cases?: string;
  readonly together?: boolean;
  readonly language?: string;
}

/** `skerry test`: a solution with a file of tests, or with cases. */
export async function test([solution]: readonly string[], options: TestCommandOptions): Promise<number> {
  const { json = false } = options;
  const named = options.language ?? guessLanguage(solution, languagesWith("tests")).name;
  const language = findLanguageWith("tests", named);
  const code = await readFileText(solution!);
  const tests = await readTests(options);
  const files = await readInputs(options.input ?? []);
  using interrupt = new Interrupt();
  const config = await readConfig(options);
  await using guarded = await openGuardedManager(config, withoutSession(options));
  const paint = paintFor(stdout, options.color);
  const report = await new TestDrivenSandbox(guarded.manager).executeWithTests(code, tests, {
    ...identityOf(config, options),
    language: language.name,
    moduleName: moduleNameOf(solution!, language.tests),
    ...(options.tests !== undefined && { testsName: basename(options.tests) }),
    together: options.together,
    sessionId: options.session,
    timeoutMs: options.timeout,
    env: options.env,
    files,
    signal: interrupt.signal,
    onProgress: (result) => {
      if (!json) void stdout.write(`${testLine(result, paint)}\n`);
    },
  });
  if (json) await stdout.write(`${jsonText(report)}\n`);
  else {
    for (const line of failureLines(report, paint)) await stdout.write(`${line}\n`);
    await stdout.write(`${summaryLine(report, paint)}\n`);
  }
  return interrupt.status ?? statusOfReport(report);
}

/** Of a session the runs have the name only: nothing of it is open to other processes. */
function withoutSession({ session: _, ...options }: TestCommandOptions): ExecuteOptions {
  return options;
}

function readFileText(path: string): Promise<string> {
  return readText(createReadStream(path), path, "Check the path.");
}

/** The file of tests, or the cases. */
async function readTests({ tests, cases }: TestCommandOptions): Promise<string | readonly TestCase[]> {
  if ((tests === undefined) === (cases === undefined)) {
    throw new SandboxError("INVALID_ARGUMENT", "give either --tests or --cases", {
      hint: "For example: skerry test solution.py --tests test_solution.py",
    });
  }
  if (tests !== undefined) return readFileText(tests);
  const text = await readFileText(cases!);
  try {
    return parseCases(JSON.parse(text));
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    throw new SandboxError("INVALID_ARGUMENT", `${cases} is not JSON: ${(error as Error).message}`, {
      hint: 'Cases are a JSON list: [{ "call": "add(1, 2)", "expected": 3 }].',
    });
  }
}

async function readInputs(transfers: readonly Transfer[]): Promise<Record<string, Uint8Array>> {
  await Promise.all(transfers.map(requireFile));
  const files = transfers.map(async ({ path, hostPath }) => [path, await readFile(hostPath)] as const);
  return Object.fromEntries(await Promise.all(files));
}

/** What tests import: the file's name without what says its language. */
function moduleNameOf(file: string, language: TestingLanguage): string {
  const name = basename(file).replace(/\.[^.]+$/, "");
  if (language.moduleName.test(name)) return name;
  throw new SandboxError("INVALID_ARGUMENT", `tests cannot import ${basename(file)}`, {
    hint: "Give the solution a name that can be imported, such as solution.py.",
  });
}

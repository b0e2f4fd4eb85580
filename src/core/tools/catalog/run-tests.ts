import { posix } from "node:path";
import { z } from "zod";
import { SandboxError } from "../../../kit/errors.js";
import { languagesWith } from "../../../runtime/sandbox/index.js";
import { innerPath, reads, useFilesAt } from "../files/use-files.js";
import { textOr } from "../model-schema.js";
import { invalidArguments, type ToolReply, type ToolStatus } from "../replies/tool-reply.js";
import { MAX_TIMEOUT_MS, timeoutArgument } from "../run-and-reply.js";
import {
  describeCounts,
  describeFailures,
  parseCases,
  TestDrivenSandbox,
  type TestReport,
} from "../test-driven/index.js";
import { defineTool, RUNS, type ToolContext } from "../tool.js";

const TESTS_TIMEOUT_MS = 60_000;
const MAX_FILE_BYTES = 1024 * 1024;

const value = z.json();
const testCase = z.strictObject({
  name: z.string().optional(),
  call: textOr(
    z.union([
      z.string().min(1),
      z.strictObject({
        function: z.string().min(1),
        args: z.array(value).optional(),
        kwargs: z.record(z.string(), value).optional(),
      }),
    ]),
    "An expression that calls the solution: `add(1, 2)`.",
  ),
  input: z.string().optional().describe("Or: standard input of the solution, run as a program."),
  args: z.array(z.string()).max(1000).optional().describe("Its arguments."),
  expected: textOr(value, "What it prints, or a text that the call returns."),
  expectedJson: z.string().min(1).optional().describe("Or the returned value as JSON."),
  raises: textOr(
    z.union([z.string().min(1), z.strictObject({ type: z.string().min(1), message: z.string().optional() })]),
    "Or the class of the exception.",
  ),
  tolerance: z.number().min(0).optional().describe("How far numbers may be off."),
  timeoutMs: z.number().int().min(1).max(MAX_TIMEOUT_MS).optional(),
});

/** A case as the runner knows it: a value that a model wrote as JSON is that value. */
function plainCase({ expectedJson, ...rest }: z.infer<typeof testCase>, index: number): object {
  const { expected, raises, ...others } = rest;
  if (expectedJson === undefined && raises === undefined) return rest;
  // In a strict mode whatever is left out is null.
  const given = { ...others, ...(raises !== undefined && { raises }), ...(expected != null && { expected }) };
  if (expectedJson === undefined) return given;
  try {
    return { ...given, expected: JSON.parse(expectedJson) };
  } catch {
    throw invalidArguments(
      `run_tests: case ${index + 1}: "expectedJson" is no JSON`,
      "A text is in expected.",
    );
  }
}

/** `run_tests`: a solution with its tests, which it cannot fool. */
export const runTests = defineTool({
  name: "run_tests",
  title: "Run tests",
  description:
    "Runs a solution with its tests and reports for each whether it passed, with expected and actual values. Give the solution as " +
    "`code` or as `path` in the workspace, and the tests as `tests`, as `testsPath`, or as `cases`. Tests of Python are for " +
    "pytest or unittest, those of JavaScript and TypeScript for node:test; they import `solution`. Both run in sandboxes of " +
    "their own, not in the session's: name what else they need in `files`.",
  input: z.strictObject({
    language: z.enum(languagesWith("tests")).describe("The language of both."),
    code: z.string().optional().describe("The solution."),
    path: z.string().optional().describe("Or where it is, relative to the workspace."),
    tests: z.string().optional().describe("The content of a file of tests."),
    testsPath: z.string().optional().describe("Or where it is, relative to the workspace."),
    cases: z.array(testCase).min(1).max(1000).optional().describe("Or cases, compared outside the sandbox."),
    files: z.array(z.string()).max(100).optional().describe("Workspace files that both can read."),
    timeoutMs: timeoutArgument(TESTS_TIMEOUT_MS, "Milliseconds for everything"),
  }),
  annotations: RUNS,
  run: async (args, context) => {
    exactlyOne("the solution", { code: args.code, path: args.path });
    exactlyOne("the tests", { tests: args.tests, testsPath: args.testsPath, cases: args.cases });
    const wanted = [args.path, args.testsPath, ...(args.files ?? [])].filter((path) => path !== undefined);
    const read = await readTexts(context, wanted);
    if ("status" in read) return read;
    const textOf = (path: string | undefined) => (path === undefined ? undefined : read.get(path));
    const report = await new TestDrivenSandbox(context.manager, context.caller).executeWithTests(
      args.code ?? textOf(args.path)!,
      args.tests ?? textOf(args.testsPath) ?? parseCases(args.cases?.map(plainCase)),
      {
        language: args.language,
        timeoutMs: args.timeoutMs ?? TESTS_TIMEOUT_MS,
        signal: context.signal,
        files: Object.fromEntries((args.files ?? []).map((path) => [innerPath(path), read.get(path)!])),
        ...(args.path !== undefined && { moduleName: stemOf(args.path) }),
        ...(args.testsPath !== undefined && { testsName: posix.basename(args.testsPath) }),
        onProgress: ({ name, status }) => context.onOutput?.("stdout", `${status} ${name}\n`),
      },
    );
    return replyOf(report);
  },
});

/** Files of the session's workspace, by the path that was given; a reply where one may not be read. */
async function readTexts(
  context: ToolContext,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string> | ToolReply> {
  const texts = new Map<string, string>();
  if (paths.length === 0) return texts;
  const path = paths.find(leadsOutside) ?? paths[0]!;
  const reply = await useFilesAt(context, { tool: "file_read", path }, () => ({
    summary: `read ${paths.join(", ")} for tests`,
    paths: paths.map((path) => reads(innerPath(path))),
    work: async ({ files }) => {
      for (const path of paths) {
        const { size } = await files.stat(innerPath(path));
        if (size > MAX_FILE_BYTES) throw tooLarge(path, size);
        texts.set(path, await files.readText(innerPath(path)));
      }
      return { status: "success", summary: "", data: {}, text: "" };
    },
  }));
  return reply.status === "success" ? texts : reply;
}

function leadsOutside(path: string): boolean {
  try {
    innerPath(path);
    return false;
  } catch {
    return true;
  }
}

function replyOf(report: TestReport): ToolReply {
  const summary = report.allPassed
    ? `All passed: ${describeCounts(report.counts)}`
    : // Never why: that may be in the words of the code under test.
      `${report.outcome}: ${describeCounts(report.counts)}`;
  return {
    status: statusOf(report),
    summary,
    data: { ...report },
    text: report.allPassed ? summary : describeFailures(report),
  };
}

function statusOf({ allPassed, outcome }: TestReport): ToolStatus {
  if (outcome === "denied" || outcome === "rejected") return outcome;
  return allPassed ? "success" : "error";
}

function exactlyOne(what: string, given: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(given);
  const count = Object.values(given).filter((each) => each !== undefined).length;
  if (count === 1) return;
  throw invalidArguments(
    `run_tests: ${what} ${count === 0 ? "must be given" : "was given more than once"}`,
    `Give one of ${names.join(", ")}.`,
  );
}

/** What tests import of a file. */
function stemOf(path: string): string {
  return posix.basename(path).replace(/\.[^.]+$/, "");
}

function tooLarge(path: string, size: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `${JSON.stringify(path)} has ${size} bytes; the maximum is 1 MiB`,
    {
      hint: "Leave large data files out.",
    },
  );
}

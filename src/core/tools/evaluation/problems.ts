import { z } from "zod";
import { closestWord } from "../../../kit/closest-word.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { readJsonLines } from "./json-lines.js";

const problemSchema = z.object({
  task_id: z.string().min(1).max(200),
  prompt: z.string(),
  test: z.string(),
  entry_point: z.string().regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, "expected the name of a function"),
  canonical_solution: z.string().optional(),
});

/** A task of HumanEval: what has to be completed, and what decides about it. */
export type Problem = z.infer<typeof problemSchema>;

const sampleSchema = z
  .object({
    task_id: z.string().min(1).max(200),
    completion: z.string().optional(),
    solution: z.string().optional(),
  })
  .refine(({ completion, solution }) => (completion === undefined) !== (solution === undefined), {
    message: "expected a completion (what follows the prompt) or a solution (a whole program)",
  });

/** One answer to a task. */
export interface Sample {
  readonly taskId: string;
  /** The how manieth of its task, from 0. */
  readonly completionId: number;
  /** What follows the prompt. */
  readonly completion?: string | undefined;
  /** A whole program, in place of prompt and completion. */
  readonly solution?: string | undefined;
}

/** HumanEval's file of problems, plain or gzipped. */
export async function loadProblems(path: string): Promise<ReadonlyMap<string, Problem>> {
  const problems = new Map<string, Problem>();
  for (const problem of await readJsonLines(path, problemSchema)) {
    if (problems.has(problem.task_id)) throw wrong(`the task ${quote(problem.task_id)} occurs twice`);
    problems.set(problem.task_id, problem);
  }
  if (problems.size === 0) throw wrong("there is no problem in the file");
  return problems;
}

/** HumanEval's file of samples: each names a task that is there. */
export async function loadSamples(path: string, problems: ReadonlyMap<string, Problem>): Promise<Sample[]> {
  const rows = await readJsonLines(path, sampleSchema);
  if (rows.length === 0) throw wrong("there is no sample in the file");
  const unknown = rows.find(({ task_id }) => !problems.has(task_id));
  if (unknown !== undefined) {
    const close = closestWord(unknown.task_id, [...problems.keys()]);
    throw wrong(
      `a sample is for the task ${quote(unknown.task_id)}, which is not among the problems`,
      close === undefined ? undefined : `Did you mean ${quote(close)}?`,
    );
  }
  return numbered(rows.map(({ task_id, ...answer }) => ({ taskId: task_id, ...answer })));
}

/** The answers that came with the problems, to see that everything works. */
export function canonicalSamples(problems: ReadonlyMap<string, Problem>): Sample[] {
  return numbered(
    [...problems.values()].map(({ task_id, canonical_solution }) => {
      if (canonical_solution === undefined) {
        throw wrong(`the task ${quote(task_id)} has no canonical_solution`, "Pass samples.");
      }
      return { taskId: task_id, completion: canonical_solution };
    }),
  );
}

function numbered(answers: readonly Omit<Sample, "completionId">[]): Sample[] {
  const counts = new Map<string, number>();
  return answers.map((answer) => {
    const completionId = counts.get(answer.taskId) ?? 0;
    counts.set(answer.taskId, completionId + 1);
    return { ...answer, completionId };
  });
}

function quote(taskId: string): string {
  return JSON.stringify(escapeUnsafe(taskId));
}

function wrong(message: string, hint = "docs/evaluation.md has the formats."): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

export interface HumanEvalTask {
  readonly task_id: string;
  readonly prompt: string;
  readonly canonical_solution: string;
  readonly test: string;
  readonly entry_point: string;
}

export const HUMAN_EVAL_FILE = new URL("../data/HumanEval.jsonl.gz", import.meta.url).pathname;

/** HumanEval's 164 problems. */
export function humanEvalTasks(): HumanEvalTask[] {
  const lines = gunzipSync(readFileSync(HUMAN_EVAL_FILE)).toString("utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as HumanEvalTask);
}

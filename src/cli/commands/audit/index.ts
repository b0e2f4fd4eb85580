import type { Command } from "commander";
import { AUDIT_RESULTS } from "../../../guard/audit/index.js";
import {
  addCommand,
  addExamples,
  createChoice,
  parseChainPoint,
  parseCount,
  setAction,
} from "../../definition/index.js";
import { parseMoment } from "../../output/index.js";

const EXAMPLES = {
  audit: `
  skerry audit tail --follow
  skerry audit query --session work --result denied --since 1h
  skerry audit report --since 7d
  skerry audit verify`,
  tail: `
  skerry audit tail
  skerry audit tail -n 100 --json
  skerry audit tail --follow`,
  query: `
  skerry audit query --session work
  skerry audit query --result denied --since 1h
  skerry audit query --since '2026-02-07 12:00' --until 2026-02-08 --json`,
  report: `
  skerry audit report
  skerry audit report --since 14d --top 20 --policy policy.yaml
  skerry audit report --since 2026-02-01 --until 2026-03-01 --json

The exit status is 65 when the chain is broken.`,
  verify: `
  skerry audit verify
  skerry audit verify --expect 1042:5f1c…   # the head that an earlier run printed
  skerry audit verify --json

The exit status is 65 when the chain is broken.`,
} as const;

/** `audit …`. */
export function defineAudit(program: Command): void {
  const load = () => import("./audit.js");
  const group = addCommand(program, "audit", "the record of what ran", EXAMPLES.audit);
  const add = (name: string, description: string) =>
    group
      .command(name)
      .description(description)
      .option("--directory <path>", "where the log is; default: the configuration's");

  const tail = add("tail", "print the last records")
    .option("-n, --lines <number>", "how many; default: 20", (value) => parseCount("--lines", value, 0))
    .option("-f, --follow", "go on with new ones until Ctrl-C")
    .option("--json", "print one JSON object per line");
  setAction(tail, async (command) => (await load()).tail(command.opts()));
  addExamples(tail, EXAMPLES.tail);

  const query = add("query", "print the records that fit")
    .option("-s, --session <name>", "of this session")
    .option("--agent <id>", "of this agent")
    .option("--org <id>", "of this organisation")
    .option("--tool <name>", "of this tool: run_code, shell_exec")
    .addOption(createChoice("--result <result>", "that ended so", AUDIT_RESULTS))
    .option("--since <time>", "not before: 1h, or 2026-02-07T12:00 (local time)", (value) =>
      parseMoment("--since", value),
    )
    .option("--until <time>", "before: the same", (value) => parseMoment("--until", value))
    .option("--limit <number>", "at most so many, the latest", (value) => parseCount("--limit", value, 1))
    .option("--json", "print a JSON array");
  setAction(query, async (command) => (await load()).query(command.opts()));
  addExamples(query, EXAMPLES.query);

  const verify = add("verify", "check that no record was changed, removed or moved")
    .option("--expect <seq:hash>", "a head of the chain that must still be in it", parseChainPoint)
    .option("--json", "print one JSON object");
  setAction(verify, async (command) => (await load()).verify(command.opts()));
  addExamples(verify, EXAMPLES.verify);

  const report = add("report", "sum up a span of time, for the periodic review")
    .option("--since <time>", "not before: 7d, or 2026-02-07 (local time); default: 7d", (value) =>
      parseMoment("--since", value),
    )
    .option("--until <time>", "before: the same; default: now", (value) => parseMoment("--until", value))
    .option("--top <number>", "how many of each list; default: 10", (value) => parseCount("--top", value, 1))
    .option("--policy <file>", "whose rules to review; default: the configuration's")
    .option("--json", "print one JSON object");
  setAction(report, async (command) => (await import("./report.js")).report(command.opts()));
  addExamples(report, EXAMPLES.report);
}

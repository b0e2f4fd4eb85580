import type { Command } from "commander";
import { addCommand, parseCount, setAction } from "../../definition/index.js";
import { parseMoment } from "../../output/index.js";

const EXAMPLES = {
  egress: `
  skerry egress log --session work
  skerry egress allow --session work api.example.com
  skerry egress deny --session work api.example.com`,
  log: `
  skerry egress log
  skerry egress log --session work --since 1h --json`,
  allow: `
  skerry egress allow --session work api.example.com '*.files.example.com'`,
  deny: `
  skerry egress deny --session work api.example.com
  skerry egress deny --session work '*'        # everything; open connections are closed`,
} as const;

/** `egress …`. */
export function defineEgress(program: Command): void {
  const load = () => import("./egress.js");
  const group = addCommand(program, "egress", "the network access of sandboxes", EXAMPLES.egress);
  const log = addCommand(
    group,
    "log",
    "print every connection: name, address, port, verdict, rule, bytes",
    EXAMPLES.log,
  )
    .option("-s, --session <name>", "of this session")
    .option("--since <time>", "not before: 1h, or 2026-02-07T12:00 (local time)", (value) =>
      parseMoment("--since", value),
    )
    .option("--limit <number>", "at most so many, the latest", (value) => parseCount("--limit", value, 1))
    .option("--directory <path>", "where the audit log is; default: the configuration's")
    .option("--json", "print a JSON array");
  setAction(log, async (command) => (await load()).log(command.opts()));

  for (const [name, description] of [
    ["allow", "let a running session reach more hosts"],
    ["deny", "keep a running session from hosts, and close what is open to them"],
  ] as const) {
    const change = addCommand(group, name, description, EXAMPLES[name])
      .argument("<domain...>", "api.example.com, *.example.com")
      .requiredOption("-s, --session <name>", "the session");
    setAction(change, async (command) => (await load()).change(name, command.args, command.opts()));
  }
}

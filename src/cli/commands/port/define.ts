import type { Command } from "commander";
import { parseCount, parsePort, parseTimeoutMs } from "../../definition/arguments.js";
import { examples, leaf } from "../../definition/define-command.js";
import { parseMoment } from "../../output/local-time.js";
import { guards, sandbox } from "../run/define.js";

const EXAMPLES = {
  port: `
  skerry port --session work 8000 -- python3 -m http.server 8000
  skerry port --session work 8000              # of what runs in the session already
  skerry port --session work 8000 --host-port 9000`,
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

/** `port` and `egress …`. */
export function defineNetwork(program: Command): void {
  const port = program
    .command("port")
    .description("open a port of a session on 127.0.0.1, until Ctrl-C")
    .argument("<port>", "the port inside", (value) => parsePort("port", value))
    .argument("[command...]", "run this in the session, and end with it; after --")
    .option("--host-port <number>", "the port outside; default: any that is free", (value) =>
      parsePort("--host-port", value),
    )
    .option("--timeout <duration>", "end the command after this; default: never", parseTimeoutMs)
    .option("--json", "print where it is as one JSON object");
  leaf(port, async (command) => {
    const [inside, ...argv] = command.processedArgs as [number, ...string[][]];
    return (await import("./port.js")).port(inside, argv.flat(), command.opts());
  });
  guards(sandbox(port));
  examples(port, EXAMPLES.port);

  const load = () => import("../egress/egress.js");
  const group = examples(program.command("egress").description("the way out of sandboxes"), EXAMPLES.egress);
  const log = group
    .command("log")
    .description("print every connection: name, address, port, verdict, rule, bytes")
    .option("-s, --session <name>", "of this session")
    .option("--since <time>", "not before: 1h, or 2026-02-07T12:00 (local time)", (value) =>
      parseMoment("--since", value),
    )
    .option("--limit <number>", "at most so many, the latest", (value) => parseCount("--limit", value, 1))
    .option("--directory <path>", "where the audit log is; default: the configuration's")
    .option("--json", "print a JSON array");
  leaf(log, async (command) => (await load()).log(command.opts()));
  examples(log, EXAMPLES.log);

  for (const [name, description] of [
    ["allow", "let a running session reach more hosts"],
    ["deny", "keep a running session from hosts, and close what is open to them"],
  ] as const) {
    const change = group
      .command(name)
      .description(description)
      .argument("<domain...>", "api.example.com, *.example.com")
      .requiredOption("-s, --session <name>", "the session");
    leaf(change, async (command) => (await load()).change(name, command.args, command.opts()));
    examples(change, EXAMPLES[name]);
  }
}

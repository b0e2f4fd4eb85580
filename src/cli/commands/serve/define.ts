import type { Command } from "commander";
import { parseExpiryMs } from "../../definition/arguments.js";
import { type Action, examples, leaf } from "../../definition/define-command.js";

const EXAMPLES = {
  serve: `
  skerry serve
  skerry serve --port 8080 --policy policy.yaml
  skerry serve --config skerry.yaml`,
  keys: `
  skerry keys create --org acme --name ci
  skerry keys ls --org acme
  skerry keys revoke --org acme 0123456789abcdef01234567`,
  create: `
  skerry keys create --org acme --name agent --role code_assistant
  skerry keys create --org acme --name dashboard --read-only --expires 90d
  skerry keys create --org acme --name reviewer --read-only --approve`,
  ls: `
  skerry keys ls
  skerry keys ls --org acme --json`,
  revoke: `
  skerry keys revoke --org acme 0123456789abcdef01234567`,
  status: `
  skerry status
  skerry status --json
  skerry status --local        # without a server: this user's own state directory

The exit status is 1 when something needs attention.`,
  approvals: `
  skerry approvals ls
  skerry approvals approve 01234567-89ab-cdef-0123-456789abcdef
  skerry approvals reject 01234567-89ab-cdef-0123-456789abcdef --reason "not on a Friday"`,
} as const;

/** `serve`, `status`, `keys …` and `approvals …`. */
export function defineServer(program: Command): void {
  const serve = program
    .command("serve")
    .description("run the server: HTTP over the same sandboxes, for many callers")
    .option("--host <address>", "the address to listen on; default: server.host")
    .option("--port <number>", "the port; 0: one that is free; default: server.port")
    .option("--policy <file>", "what agents may do; default: the configuration's, or everything")
    .option("--backend <name>", "what isolates; default: the best this host has")
    .option("--json", "print the address and a first key as one JSON object when it listens");
  leaf(serve, async (command) => (await import("./serve.js")).serve(command.opts()));
  examples(serve, EXAMPLES.serve);
  defineStatus(program);
  defineKeys(program);
  defineApprovals(program);
}

function defineStatus(program: Command): void {
  const status = program
    .command("status")
    .description("the run-time checklist of a running server: what was found, and what to do")
    .option("--url <address>", "the server; default: SKERRY_URL, or http://127.0.0.1:7070")
    .option(
      "--key <key>",
      "an API key with the scope admin; default: SKERRY_API_KEY, which others cannot see",
    )
    .option("--local", "look at this user's own state directory instead: pools, audit log, sessions, disk")
    .option("--json", "print one JSON object");
  leaf(status, async (command) => (await import("../status/status.js")).status(command.opts()));
  examples(status, EXAMPLES.status);
}

function defineKeys(program: Command): void {
  const group = examples(program.command("keys").description("the API keys of a server"), EXAMPLES.keys);
  const load = () => import("../keys/keys.js");
  const add = (name: "create" | "ls" | "revoke", what: string, action: Action): Command =>
    examples(
      leaf(group.command(name).description(what), action)
        .option("--org <name>", "whose keys", "default")
        .option("--json", "print JSON"),
      EXAMPLES[name],
    );
  add("create", "make a key, and print it this once", async (command) =>
    (await load()).create(command.opts()),
  )
    .requiredOption("--name <text>", "what to call it")
    .option("--role <names...>", "roles of the policy it may act in, the first by default; default: all")
    .option("--read-only", "it may look, and change nothing")
    .option("--approve", "it may decide what waits for a person")
    .option("--admin", "it may see metrics, the pool and the status, and open the network of sessions")
    .option("--expires <duration>", "how long it is valid; default: until it is revoked", parseExpiryMs);
  add("ls", "list the keys of an org, also revoked ones", async (command) =>
    (await load()).list(command.opts()),
  );
  add("revoke", "make a key invalid, at once and for ever", async (command) =>
    (await load()).revoke(command.args, command.opts()),
  ).argument("<id>");
}

function defineApprovals(program: Command): void {
  const group = examples(
    program.command("approvals").description("what waits for a decision on a running server"),
    EXAMPLES.approvals,
  );
  const load = () => import("../approvals/approvals.js");
  const add = (name: string, what: string, action: Action): Command =>
    examples(
      leaf(group.command(name).description(what), action)
        .option("--url <address>", "the server; default: SKERRY_URL, or http://127.0.0.1:7070")
        .option(
          "--key <key>",
          "an API key with the scope approve; default: SKERRY_API_KEY, which others cannot see",
        )
        .option("--json", "print JSON"),
      EXAMPLES.approvals,
    );
  add("ls", "list them, the oldest first", async (command) => (await load()).list(command.opts()));
  add("approve", "let it run", async (command) => (await load()).approve(command.args, command.opts()))
    .argument("<id>")
    .option(
      "--scope <once|session>",
      "for this once, or for the session: also when the same is asked in it again",
      "once",
    );
  add("reject", "do not let it run", async (command) => (await load()).reject(command.args, command.opts()))
    .argument("<id>")
    .option("--reason <text>", "what the agent is told");
}

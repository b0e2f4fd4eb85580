import type { Command } from "commander";
import { type Action, addCommand, addExamples, parseExpiryMs, setAction } from "../../definition/index.js";

const EXAMPLES = {
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
} as const;

/** `keys …`. */
export function defineKeys(program: Command): void {
  const group = addCommand(program, "keys", "the API keys of a server", EXAMPLES.keys);
  const load = () => import("./keys.js");
  const add = (name: "create" | "ls" | "revoke", what: string, action: Action): Command =>
    addExamples(
      setAction(group.command(name).description(what), action)
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

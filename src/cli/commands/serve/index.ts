import type { Command } from "commander";
import { addBackendOption, addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry serve
  skerry serve --port 8080 --policy policy.yaml
  skerry serve --config skerry.yaml`;

/** `serve`. */
export function defineServe(program: Command): void {
  const serve = addCommand(
    program,
    "serve",
    "run the server: HTTP over the same sandboxes, for many callers",
    EXAMPLES,
  )
    .option("--host <address>", "the address to listen on; default: server.host")
    .option("--port <number>", "the port; 0: one that is free; default: server.port")
    .option("--policy <file>", "what agents may do; default: the configuration's, or everything")
    .option("--json", "print the address and a first key as one JSON object when it listens");
  addBackendOption(serve);
  setAction(serve, async (command) => (await import("./serve.js")).serve(command.opts()));
}

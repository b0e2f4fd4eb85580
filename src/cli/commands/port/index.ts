import type { Command } from "commander";
import {
  addCommand,
  addGuardOptions,
  addSandboxOptions,
  parsePort,
  parseTimeoutMs,
  setAction,
} from "../../definition/index.js";

const EXAMPLES = `
  skerry port --session work 8000 -- python3 -m http.server 8000
  skerry port --session work 8000              # of what runs in the session already
  skerry port --session work 8000 --host-port 9000`;

/** `port`. */
export function definePort(program: Command): void {
  const port = addCommand(program, "port", "open a port of a session on 127.0.0.1, until Ctrl-C", EXAMPLES)
    .argument("<port>", "the port inside", (value) => parsePort("port", value))
    .argument("[command...]", "run this in the session, and end with it; after --")
    .option("--host-port <number>", "the port outside; default: any that is free", (value) =>
      parsePort("--host-port", value),
    )
    .option("--timeout <duration>", "end the command after this; default: never", parseTimeoutMs)
    .option("--json", "print where it is as one JSON object");
  setAction(port, async (command) => {
    const [inside, ...argv] = command.processedArgs as [number, ...string[][]];
    return (await import("./port.js")).port(inside, argv.flat(), command.opts());
  });
  addGuardOptions(addSandboxOptions(port));
}

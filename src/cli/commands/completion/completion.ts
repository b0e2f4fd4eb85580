import type { Command } from "commander";
import { stdout } from "../../output/index.js";
import { bashScript } from "./bash.js";
import { readCommands } from "./command-table.js";
import { fishScript } from "./fish.js";
import { zshScript } from "./zsh.js";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `skerry completion`: made of the definitions of the commands, so that it is never out of step with them. */
export async function completion(program: Command, shell: keyof typeof SCRIPTS): Promise<number> {
  await stdout.write(SCRIPTS[shell](readCommands(program)));
  return 0;
}

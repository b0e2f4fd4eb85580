import type { Command } from "commander";
import { addCommand, createChoiceArgument, setAction } from "../../definition/index.js";

const SHELLS = ["bash", "zsh", "fish"] as const;

const EXAMPLES = `
  source <(skerry completion bash)                               in ~/.bashrc
  skerry completion zsh > ~/.zfunc/_skerry                       in a directory of fpath, before compinit
  skerry completion fish > ~/.config/fish/completions/skerry.fish`;

/** `completion`. */
export function defineCompletion(program: Command): void {
  const completion = addCommand(
    program,
    "completion",
    "print what has a shell complete commands, options, their values and sessions",
    EXAMPLES,
  ).addArgument(createChoiceArgument("shell", "which shell", SHELLS));
  setAction(completion, async (command) => {
    const [shell] = command.processedArgs as [(typeof SHELLS)[number]];
    return (await import("./completion.js")).completion(program, shell);
  });
}

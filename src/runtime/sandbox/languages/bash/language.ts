import type { Language } from "../language.js";

export const BASH: Language = {
  name: "bash",
  aliases: ["sh", "shell"],
  extensions: [".sh", ".bash"],
  interpreter: "bash",
  install: "apt-get install bash",
  command: (path) => ["bash", path],
  context: {
    interpreter: ["bash"],
    runner: "bash/bash-context.sh",
    copies: false,
    repeatsInterrupts: true,
    // An interrupt for the code before may make bash forget the first character.
    encodeRun: (run, code) => `\n__skerry_run ${run} ${quoteForBash(code)}\n`,
    encodeRepeatedInterrupt: (run) => `\n__skerry_done $? ${run}\n`,
  },
};

/** Runs what is given as one command line, and terminals where no command is given. */
export const SHELL = {
  language: BASH.name,
  command: (line: string): string[] => ["bash", "-c", line],
  terminal: ["bash", "-i"],
} as const;

/** Text as one word of bash, in printable ASCII and on one line. */
function quoteForBash(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => {
    const letter = String.fromCharCode(byte);
    if (letter === "\n") return "\\n";
    return byte < 0x20 || byte > 0x7e || letter === "'" || letter === "\\"
      ? `\\x${byte.toString(16).padStart(2, "0")}`
      : letter;
  });
  return `$'${bytes.join("")}'`;
}

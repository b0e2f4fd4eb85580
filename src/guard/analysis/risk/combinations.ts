import type { CombinationRule } from "../program/known-functions.js";

/** What several findings mean together, in any language. */
export const COMBINATIONS: readonly CombinationRule[] = [
  {
    rule: "reverse-shell",
    level: "critical",
    all: [
      ["socket", "listener"],
      ["interactive-shell", "descriptor-copy"],
    ],
    why: "Connects a shell to the network.",
  },
  {
    rule: "remote-code",
    level: "high",
    all: [["network", "socket"], ["temporary-program"]],
    why: "Talks to the network and runs a program out of the temporary directory.",
  },
];

import { nodeContext, nodeWarm } from "../javascript/language.js";
import { nodeTests } from "../javascript/tests.js";
import type { Language } from "../language.js";

/** Node.js that takes types out of what it loads. */
const node = (runtime: string) => [
  "node",
  "--require",
  `${runtime}/javascript/programs/typescript-hooks.cjs`,
];

export const TYPESCRIPT: Language = {
  name: "typescript",
  aliases: ["ts"],
  extensions: [".ts", ".mts", ".cts", ".tsx"],
  interpreter: "node",
  install: "apt-get install nodejs",
  command: (path, runtime) => [...node(runtime), path],
  warm: nodeWarm(node),
  context: nodeContext("typescript"),
  tests: nodeTests(".ts", node),
};

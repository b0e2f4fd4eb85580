import type { ContextLanguage, Language, WarmLanguage } from "../language.js";
import { needsModuleSyntax } from "./module-syntax.js";
import { nodeTests } from "./tests.js";

export const JAVASCRIPT: Language = {
  name: "javascript",
  aliases: ["js", "node"],
  extensions: [".js", ".mjs", ".cjs"],
  interpreter: "node",
  install: "apt-get install nodejs",
  command: (path) => ["node", path],
  warm: nodeWarm(() => ["node"]),
  context: nodeContext("javascript"),
  tests: {
    ...nodeTests(".js", () => ["node"]),
    extensionFor: (code) => (needsModuleSyntax(code) ? ".mjs" : undefined),
  },
};

/** `node` starts Node.js with all that a program of the language needs. */
export function nodeWarm(node: (runtime: string) => readonly string[]): WarmLanguage {
  return {
    kind: "single",
    command: (runtime) => {
      const runner = `${runtime}/javascript/programs/node-runner.cjs`;
      return [...node(runtime), "--require", runner, runner];
    },
    startupVariables:
      /^(?:NODE_(?!PATH$)\w+|UV_\w+|SSL_\w+|OPENSSL_\w+|LD_\w+|MALLOC_\w+|GLIBC_\w+|LC_\w+|LANG|SANDBOX_NETWORK)$/,
  };
}

export function nodeContext(grammar: "javascript" | "typescript"): ContextLanguage {
  return {
    // Code that is broken off inside a callback leaves it without the end that these checks look for.
    interpreter: ["node", "--no-force-async-hooks-checks"],
    runner: "javascript/context/node-context.cjs",
    args: [grammar],
    copies: false,
    hearsInterrupts: true,
    repeatsInterrupts: true,
    // Module syntax is only understood in files.
    rewrite: async (code) => (await import("./rewrite-module-syntax.js")).rewriteModuleSyntax(code, grammar),
  };
}

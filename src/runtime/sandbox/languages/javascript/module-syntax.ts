import { Script } from "node:vm";

/** Complaints of V8 about code that is fine as a module. */
const MODULE_COMPLAINTS = [
  "Cannot use import statement outside a module",
  "Unexpected token 'export'",
  "Cannot use 'import.meta' outside a module",
  "await is only valid in async functions and the top level bodies of modules",
];

/**
 * True when JavaScript parses as a module only. The code is compiled, never run; the wrapper is the one that
 * CommonJS code gets.
 */
export function needsModuleSyntax(code: string): boolean {
  if (!/\b(?:import|export|await)\b/.test(code)) return false;
  const body = code.startsWith("#!") ? `//${code}` : code;
  try {
    new Script(`(function (exports, require, module, __filename, __dirname) { ${body}\n})`);
    return false;
  } catch (error) {
    return (
      error instanceof SyntaxError && MODULE_COMPLAINTS.some((complaint) => error.message.includes(complaint))
    );
  }
}

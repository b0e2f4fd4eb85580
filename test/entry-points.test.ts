import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";

const MOST_ROOT_EXPORTS = 60;

/** Every name that an entry point exports, types included. */
function exportsOf(entry: string): string[] {
  const path = new URL(`../src/${entry}.ts`, import.meta.url);
  const source = ts.createSourceFile(entry, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined)
      throw new Error(`${entry}: an entry point only exports names of other files, one by one`);
    if (!ts.isNamedExports(statement.exportClause)) throw new Error(`${entry}: name what is exported`);
    return statement.exportClause.elements.map(({ name }) => name.text);
  });
}

it(`exports at most ${MOST_ROOT_EXPORTS} names at the root`, () => {
  expect(exportsOf("index").length).toBeLessThanOrEqual(MOST_ROOT_EXPORTS);
});

it.each([
  [
    "index",
    [
      "AgentWorkspace",
      "AuditLogger",
      "ConfirmationService",
      "PolicyEngine",
      "PoolManager",
      "RunCodeTool",
      "Sandbox",
      "SandboxBackend",
      "SandboxManager",
      "SandboxMonitor",
      "SessionSandbox",
      "TestDrivenSandbox",
      "WorldInterface",
      "registerBackend",
    ],
  ],
  ["tools", ["RunCodeTool", "WorldInterface", "TestDrivenSandbox", "createTools"]],
])("%s has the names that hosts import from it", (entry, names) => {
  expect(exportsOf(entry)).toEqual(expect.arrayContaining(names));
});

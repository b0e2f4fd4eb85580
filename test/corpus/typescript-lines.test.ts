import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const { keepLines } = createRequire(import.meta.url)(
  "../../guest/runners/javascript/programs/typescript-lines.cjs",
) as { keepLines(code: string, map: string): string };
const ROOT = join(import.meta.dirname, "../..");

/** TypeScript that is not written for this test: this project's. One of so many files. */
const EACH = 20;
const FILES = ["src", "bench", "packages/client/src", "test"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
  .filter((name, index) => index % EACH === 0 || name.includes("corpus/programs"));

/** What a program is, without where it stands. */
function shape(code: string): string {
  const parts: string[] = [];
  walk(ts.createSourceFile("x.js", code, ts.ScriptTarget.Latest, true), (node, file) => {
    const isLeaf = ts.isIdentifier(node) || ts.isLiteralExpression(node) || ts.isTemplateLiteralToken(node);
    parts.push(isLeaf ? node.getText(file) : String(node.kind), String(node.getChildCount(file)));
  });
  return parts.join(" ");
}

/** The lines on which such parts of a program begin. */
function linesOf(name: string, code: string, isWanted: (node: ts.Node) => boolean): Set<number> {
  const lines = new Set<number>();
  walk(ts.createSourceFile(name, code, ts.ScriptTarget.Latest, true), (node, file) => {
    if (isWanted(node)) lines.add(file.getLineAndCharacterOfPosition(node.getStart(file)).line);
  });
  return lines;
}

function walk(file: ts.SourceFile, visit: (node: ts.Node, file: ts.SourceFile) => void): void {
  const each = (node: ts.Node) => {
    visit(node, file);
    ts.forEachChild(node, each);
  };
  each(file);
}

function compile(source: string, module: ts.ModuleKind) {
  const { outputText, sourceMapText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module,
      sourceMap: true,
      removeComments: true,
      newLine: ts.NewLineKind.CarriageReturnLineFeed,
    },
  });
  return { code: outputText, map: sourceMapText ?? "" };
}

it.each([ts.ModuleKind.CommonJS, ts.ModuleKind.ESNext])(
  "puts the parts of a program back on their lines without changing it: module kind %i",
  (module) => {
    expect(FILES.length).toBeGreaterThan(50);
    let moved = 0;
    let statements = 0;
    for (const name of FILES) {
      const source = readFileSync(join(ROOT, name), "utf8");
      const { code, map } = compile(source, module);
      const kept = keepLines(code, map);
      expect(shape(kept), name).toBe(shape(code));
      const written = linesOf(name, source, () => true);
      const found = linesOf("x.js", kept, ts.isStatement);
      statements += found.size;
      for (const line of found) if (!written.has(line)) moved++;
    }
    // Helpers and what is hoisted come first, on a line that may have no statement of the source.
    expect(moved / statements).toBeLessThan(0.02);
  },
  120_000,
);

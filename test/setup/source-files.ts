import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** Every source file of `src` but tests, parsed. Paths are relative to `src`, with `/`. */
export function readSources(): Map<string, ts.SourceFile> {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => /\.[cm]?tsx?$/.test(name) && !/\.test\.tsx?$/.test(name));
  return new Map(files.map((file) => [file, parse(file, readFileSync(join(SRC, file), "utf8"))]));
}

export function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

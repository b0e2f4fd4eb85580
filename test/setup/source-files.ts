import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** The sources of the client's package. */
export const CLIENT = fileURLToPath(new URL("../../packages/client/src", import.meta.url));

/** Every source file of a directory but tests, parsed. Paths are relative to it, with `/`. */
export function readSources(directory = SRC): Map<string, ts.SourceFile> {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => /\.[cm]?[jt]sx?$/.test(name) && !/\.test\.tsx?$/.test(name));
  return new Map(files.map((file) => [file, parse(file, readFileSync(join(directory, file), "utf8"))]));
}

export function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import ts from "typescript";
import { expect } from "vitest";
import type { Block } from "./documents.js";
import { directory, environment } from "./reader.js";

/** Where a piece of TypeScript is put to be looked at. */
export function snippetFile(where: string): string {
  return join(directory, `${where.replaceAll(/\W+/g, "-")}.ts`);
}

/** What asks a running server. */
export const FOR_A_SERVER = /SKERRY_URL/;

/** Runs it as a reader would; it prints what its comments say. */
export async function runSnippet({ text: source, where }: Block): Promise<void> {
  const expected = [...source.matchAll(/\/\/ → (.*)$/gm)].map(({ 1: line }) => `${line}\n`).join("");
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const script = snippetFile(where).replace(/ts$/, "mjs");
  writeFileSync(script, outputText);
  const child = spawn(process.execPath, [script], {
    cwd: directory,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: expected, stderr: "" });
}

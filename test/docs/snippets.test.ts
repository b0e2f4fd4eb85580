import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { type Block, blocksOf, DOCUMENTS } from "./documents.js";
import {
  CONTAINER_HOST,
  directory,
  environment,
  HOST,
  IN_CONTAINERS,
  useDocker,
  useReader,
} from "./reader.js";

const sandboxed = requires(...HOST);
const containers = requires(...CONTAINER_HOST);

useReader();

describe("the TypeScript of the documents", { timeout: 60_000 }, () => {
  const snippets = DOCUMENTS.flatMap((document) => blocksOf(document, "ts"));
  const fileOf = (where: string) => join(directory, `${where.replaceAll(/\W+/g, "-")}.ts`);

  it("has the types of the package", () => {
    for (const { text, where } of snippets) writeFileSync(fileOf(where), text);
    const program = ts.createProgram(
      snippets.map(({ where }) => fileOf(where)),
      {
        target: ts.ScriptTarget.ES2022,
        lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        types: ["node"],
        typeRoots: [join(directory, "node_modules/@types")],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: true,
        noEmit: true,
      },
    );
    const complaints = ts
      .getPreEmitDiagnostics(program)
      .map(
        ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
      );
    expect(complaints).toEqual([]);
    expect(snippets.length).toBeGreaterThan(5);
  });

  const whole = snippets.filter(({ text }) => !text.includes('from "vitest"'));
  sandboxed.it.each(whole.filter(({ text }) => !IN_CONTAINERS.test(text)))(
    "$where prints what it says",
    runSnippet,
  );
  containers.describe("with a daemon", () => {
    useDocker();
    it.each(whole.filter(({ text }) => IN_CONTAINERS.test(text)))("$where prints what it says", runSnippet);
  });

  function runSnippet({ text, where }: Block): void {
    const expected = [...text.matchAll(/\/\/ → (.*)$/gm)].map(({ 1: line }) => `${line}\n`).join("");
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    const script = fileOf(where).replace(/ts$/, "mjs");
    writeFileSync(script, outputText);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      cwd: directory,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: expected, stderr: "" });
  }
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { blocksOf, DOCUMENTS } from "./documents.js";
import { CONTAINER_HOST, directory, HOST, IN_CONTAINERS, useDocker, useReader } from "./reader.js";
import { FOR_A_SERVER, runSnippet, snippetFile } from "./run-snippet.js";

const sandboxed = requires(...HOST);
const containers = requires(...CONTAINER_HOST);

useReader();

describe("the TypeScript of the documents", () => {
  const snippets = DOCUMENTS.flatMap((document) => blocksOf(document, "ts"));

  it("has the types of the package", () => {
    for (const { text, where } of snippets) writeFileSync(snippetFile(where), text);
    const program = ts.createProgram(
      snippets.map(({ where }) => snippetFile(where)),
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

  const whole = snippets.filter(
    ({ text }) => !text.includes('from "vitest"') && !FOR_A_SERVER.test(text), // server.test.ts has those
  );
  sandboxed.it.each(whole.filter(({ text }) => !IN_CONTAINERS.test(text)))(
    "$where prints what it says",
    runSnippet,
  );
  containers.describe("with a daemon", () => {
    useDocker();
    it.each(whole.filter(({ text }) => IN_CONTAINERS.test(text)))("$where prints what it says", runSnippet);
  });
});

import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples/agents");
const SDKS = ["@ai-sdk", "@anthropic-ai", "@google", "ai", "openai"];

describe("the types of the package", () => {
  /** What the compiler says of programs in a project that has the package, built, and the SDKs. */
  function complaintsOf(programs: Readonly<Record<string, string>>, strictest: ts.CompilerOptions): string[] {
    const project = temporaryDirectory();
    const modules = join(project, "node_modules");
    mkdirSync(join(modules, "@types"), { recursive: true });
    for (const name of [...SDKS, "zod", "@types/node"])
      symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
    symlinkSync(ROOT, join(modules, "skerry"));
    writeFileSync(join(project, "package.json"), '{ "type": "module" }\n');
    const files = Object.entries(programs).map(([name, text]) => {
      writeFileSync(join(project, name), text);
      return join(project, name);
    });
    const program = ts.createProgram(files, {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: ["node"],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      ...strictest,
    });
    return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      const where = file === undefined ? "" : file.fileName.slice(project.length + 1);
      return `${where}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  }

  const examples = Object.fromEntries(
    readdirSync(EXAMPLES).map((name) => [name, readFileSync(join(EXAMPLES, name), "utf8")]),
  );

  it.each([
    ["strict", {}],
    [
      "as strict as it can be",
      { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
    ],
  ])("fit the SDKs in a project that is %s", (_, options) => {
    expect(Object.keys(examples)).toHaveLength(5);
    expect(complaintsOf(examples, options)).toEqual([]);
  });

  it("tell what does not fit", () => {
    const wrong = `
      import type Anthropic from "@anthropic-ai/sdk";
      import { createTools, type SandboxManager } from "skerry";
      import { type ToolReply, toAnthropicTools, toOpenAiResponsesResult, toVercelTools } from "skerry/tools";
      export const inAWrongPlace = (reply: ToolReply): Anthropic.ToolResultBlockParam =>
        toOpenAiResponsesResult(reply, "id");
      export function misspelt(manager: SandboxManager) {
        const tools = createTools(manager, { sessionId: "s" });
        return [toVercelTools(tools).run_cod, toAnthropicTools(tools)[0]!.name === "shell"];
      }`;
    expect(complaintsOf({ "wrong.ts": wrong }, {})).toEqual([
      expect.stringMatching(/^wrong\.ts: Property 'tool_use_id' is missing in type 'OpenAiResponsesResult'/),
      expect.stringMatching(/^wrong\.ts: Property 'run_cod' does not exist/),
      expect.stringMatching(/^wrong\.ts: This comparison appears to be unintentional/),
    ]);
  });
});

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { openManager } from "../../../test/setup/open-manager.js";
import { toGoogleTools } from "./adapters/google.js";
import { toOpenAiTools } from "./adapters/openai-chat.js";
import { toOpenAiResponsesTools } from "./adapters/openai-responses.js";
import { BUILT_IN_TOOL_NAMES, createTools, TOOL_NAMES_ON_REQUEST } from "./create-tools.js";
import { parseArguments } from "./parse-arguments.js";

const MOST_TOKENS = 1800;
const nine = createTools(openManager(), { sessionId: "s" });
const all = createTools(openManager(), {
  sessionId: "s",
  only: [...BUILT_IN_TOOL_NAMES, ...TOOL_NAMES_ON_REQUEST],
});

type Node = Readonly<Record<string, unknown>>;

/** Every schema within one, itself too. */
function nodes(node: Node): Node[] {
  const properties = Object.values((node["properties"] ?? {}) as Record<string, Node>);
  const items = node["items"] === undefined ? [] : [node["items"] as Node];
  return [node, ...[...properties, ...items].flatMap(nodes)];
}

/** What both Gemini and OpenAI's strict mode take; a union, a reference or a value of any type is not among it. */
const KEYS = ["type", "description", "properties", "required", "additionalProperties", "items", "enum"];

it("a strict model's call of run_tests is one", () => {
  const tool = nine.tools.find(({ name }) => name === "run_tests")!;
  const none = { name: null, input: null, args: null, raises: null, tolerance: null, timeoutMs: null };
  const cases = [{ ...none, call: "add(1, 2)", expected: null, expectedJson: "3" }];
  const given = {
    language: "python",
    code: "x",
    path: null,
    tests: null,
    testsPath: null,
    cases,
    files: null,
    timeoutMs: null,
  };
  const { expected: _, ...kept } = { call: "add(1, 2)", expected: null, expectedJson: "3" };
  expect(parseArguments(tool, given)).toEqual({ language: "python", code: "x", cases: [kept] });
});

it(`the nine tools take at most ${MOST_TOKENS} tokens of a request`, () => {
  expect(nine.list()).toHaveLength(9);
  expect(countTokens(JSON.stringify(toOpenAiTools(nine)))).toBeLessThanOrEqual(MOST_TOKENS);
});

describe("the schema of every tool", () => {
  it.each(all.list())("$name is flat", ({ inputSchema }) => {
    for (const node of nodes(inputSchema)) {
      expect(Object.keys(node).filter((key) => !KEYS.includes(key))).toEqual([]);
      expect(node["type"]).toMatch(/^(object|array|string|integer|number|boolean)$/);
      if (node["type"] === "object") expect(node["additionalProperties"]).toBe(false);
    }
  });

  it("is for Google what it is for others", () => {
    const [{ functionDeclarations } = { functionDeclarations: [] }] = toGoogleTools(all);
    expect(functionDeclarations.map((each) => each.parametersJsonSchema)).toEqual(
      all.list().map(({ inputSchema }) => inputSchema),
    );
  });

  it("requires every argument in a strict mode, and takes null for what is left out", () => {
    const chat = toOpenAiTools(all, { strict: true }).map((each) => each.function);
    const responses = toOpenAiResponsesTools(all, { strict: true });
    expect(responses.map(({ parameters, strict }) => [parameters, strict])).toEqual(
      chat.map(({ parameters, strict }) => [parameters, strict]),
    );
    for (const [index, { parameters }] of chat.entries()) {
      for (const node of nodes(parameters)) {
        if (node["properties"] === undefined) continue;
        expect(node["required"]).toEqual(Object.keys(node["properties"] as object));
      }
      const { required = [], properties } = all.list()[index]!.inputSchema as unknown as {
        readonly required?: readonly string[];
        readonly properties: Readonly<Record<string, unknown>>;
      };
      const strict = parameters["properties"] as Readonly<Record<string, Node>>;
      for (const name of Object.keys(properties)) {
        const takesNull = [strict[name]!["type"]].flat().includes("null");
        expect([name, takesNull]).toEqual([name, !required.includes(name)]);
      }
    }
    expect(toOpenAiTools(all)[0]!.function).not.toHaveProperty("strict");
  });
});

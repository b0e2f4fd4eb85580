import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { beforeEach, expect } from "vitest";
import { askAnthropic } from "../../examples/agents/anthropic.js";
import { askGoogle } from "../../examples/agents/google.js";
import { askChat } from "../../examples/agents/openai-chat.js";
import { askResponses } from "../../examples/agents/openai-responses.js";
import { askVercel } from "../../examples/agents/vercel.js";
import { createTools, type ToolSet } from "../../src/tools.js";
import { openManager } from "../setup/open-manager.js";
import { requires } from "../setup/requires.js";
import { openScriptedApi } from "../setup/scripted-api.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

describe("a model that draws with run_code and asks for something else meanwhile", () => {
  const PNG =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const URL_OF_PNG = `data:image/png;base64,${PNG}`;
  const draw = {
    language: "python",
    context: "main",
    code: `import base64
class Figure:
    def _repr_png_(self): return base64.b64decode("${PNG}")
    def __repr__(self): return "<a figure>"
print("drawn")
Figure()`,
  };
  const fail = { command: "echo meanwhile; exit 3" };
  // What a model reads of both: from inside between marks, then words of ours.
  const drawn = expect.stringMatching(/----- \w{12} -----\ndrawn\n<a figure>\n----- \w{12} -----/);
  const failed = expect.stringMatching(/----- \w{12} -----\nmeanwhile\n----- \w{12} -----\nExit code: 3$/);
  const ANSWER = "It is a dot.";

  const manager = openManager({ backend: "bubblewrap" });
  let tools: ToolSet;
  beforeEach(async () => {
    await manager.deleteSession("agent");
    tools = createTools(manager, { sessionId: "agent", only: ["run_code", "shell_exec"] });
  });

  it("sees both with Anthropic's SDK", async () => {
    const message = (content: object[], stop_reason: string) => ({
      id: "msg",
      type: "message",
      role: "assistant",
      model: "m",
      content,
      stop_reason,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const calls = [
      { type: "tool_use", id: "toolu_1", name: "run_code", input: draw },
      { type: "tool_use", id: "toolu_2", name: "shell_exec", input: fail },
    ];
    const { url, requests } = await openScriptedApi([
      message(calls, "tool_use"),
      message([{ type: "text", text: ANSWER }], "end_turn"),
    ]);
    const client = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
    expect(await askAnthropic(client, "m", tools, "Draw a dot.")).toBe(ANSWER);
    expect(requests).toEqual([
      expect.objectContaining({
        tools: [
          expect.objectContaining({
            name: "run_code",
            input_schema: expect.objectContaining({ type: "object" }),
          }),
          expect.objectContaining({ name: "shell_exec" }),
        ],
      }),
      expect.objectContaining({
        messages: [
          { role: "user", content: "Draw a dot." },
          { role: "assistant", content: calls },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "toolu_1",
                is_error: false,
                content: [
                  { type: "text", text: drawn },
                  { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
                ],
              },
              {
                type: "tool_result",
                tool_use_id: "toolu_2",
                is_error: true,
                content: [{ type: "text", text: failed }],
              },
            ],
          },
        ],
      }),
    ]);
  });

  /** What the Responses API says; both SDKs that use it read this. */
  const responses = [
    {
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "m",
      status: "completed",
      output: [
        {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: "run_code",
          arguments: JSON.stringify(draw),
        },
        {
          type: "function_call",
          id: "fc_2",
          call_id: "call_2",
          name: "shell_exec",
          arguments: JSON.stringify(fail),
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
    {
      id: "resp_2",
      object: "response",
      created_at: 2,
      model: "m",
      status: "completed",
      output: [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: ANSWER, annotations: [] }],
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
  ];

  it("sees both with OpenAI's Responses API", async () => {
    const { url, requests } = await openScriptedApi(responses);
    const client = new OpenAI({ baseURL: url, apiKey: "k", maxRetries: 0 });
    expect(await askResponses(client, "m", tools, "Draw a dot.")).toBe(ANSWER);
    expect(requests).toEqual([
      expect.objectContaining({
        tools: [
          expect.objectContaining({ type: "function", name: "run_code", strict: false }),
          expect.objectContaining({ type: "function", name: "shell_exec", strict: false }),
        ],
      }),
      expect.objectContaining({
        previous_response_id: "resp_1",
        input: [
          {
            type: "function_call_output",
            call_id: "call_1",
            output: [
              { type: "input_text", text: drawn },
              { type: "input_image", image_url: URL_OF_PNG, detail: "auto" },
            ],
          },
          { type: "function_call_output", call_id: "call_2", output: failed },
        ],
      }),
    ]);
  });

  it("sees both with the Vercel AI SDK", async () => {
    const { url, requests } = await openScriptedApi(responses);
    const model = createOpenAI({ baseURL: url, apiKey: "k" })("m");
    expect(await askVercel(model, tools, "Draw a dot.")).toBe(ANSWER);
    expect(requests).toEqual([
      expect.objectContaining({
        tools: [
          expect.objectContaining({
            type: "function",
            name: "run_code",
            parameters: expect.objectContaining({ type: "object", required: ["language", "code"] }),
          }),
          expect.objectContaining({ type: "function", name: "shell_exec" }),
        ],
      }),
      expect.objectContaining({
        input: expect.arrayContaining([
          {
            type: "function_call_output",
            call_id: "call_1",
            output: [
              { type: "input_text", text: drawn },
              { type: "input_image", image_url: URL_OF_PNG },
            ],
          },
          { type: "function_call_output", call_id: "call_2", output: failed },
        ]),
      }),
    ]);
  });

  it("sees both with OpenAI's chat completions", async () => {
    const completion = (message: object) => ({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        { index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", logprobs: null },
      ],
    });
    const call = (id: string, name: string, args: object) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    });
    const tool_calls = [call("call_1", "run_code", draw), call("call_2", "shell_exec", fail)];
    const { url, requests } = await openScriptedApi([
      completion({ content: null, tool_calls }),
      completion({ content: ANSWER }),
    ]);
    const client = new OpenAI({ baseURL: url, apiKey: "k", maxRetries: 0 });
    expect(await askChat(client, "m", tools, "Draw a dot.")).toBe(ANSWER);
    expect(requests).toEqual([
      expect.objectContaining({
        tools: [
          { type: "function", function: expect.objectContaining({ name: "run_code" }) },
          { type: "function", function: expect.objectContaining({ name: "shell_exec" }) },
        ],
      }),
      expect.objectContaining({
        messages: [
          { role: "user", content: "Draw a dot." },
          { role: "assistant", content: null, tool_calls },
          { role: "tool", tool_call_id: "call_1", content: drawn },
          { role: "tool", tool_call_id: "call_2", content: failed },
          {
            role: "user",
            content: [
              { type: "text", text: expect.stringContaining("Not from the user") },
              { type: "image_url", image_url: { url: URL_OF_PNG } },
            ],
          },
        ],
      }),
    ]);
  });

  it("sees both with Google's SDK", async () => {
    const said = (parts: object[]) => ({
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
    });
    const calls = [
      { functionCall: { id: "1", name: "run_code", args: draw }, thoughtSignature: "c2lnbmVk" },
      { functionCall: { id: "2", name: "shell_exec", args: fail } },
    ];
    const { url, requests } = await openScriptedApi([said(calls), said([{ text: ANSWER }])]);
    const client = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url } });
    expect(await askGoogle(client, "m", tools, "Draw a dot.")).toBe(ANSWER);
    expect(requests).toEqual([
      expect.objectContaining({
        tools: [
          {
            functionDeclarations: [
              expect.objectContaining({
                name: "run_code",
                parametersJsonSchema: expect.objectContaining({ type: "object" }),
              }),
              expect.objectContaining({ name: "shell_exec" }),
            ],
          },
        ],
      }),
      expect.objectContaining({
        contents: [
          { role: "user", parts: [{ text: "Draw a dot." }] },
          { role: "model", parts: calls },
          {
            role: "user",
            parts: [
              {
                functionResponse: {
                  id: "1",
                  name: "run_code",
                  response: { output: drawn },
                  parts: [{ inlineData: { mimeType: "image/png", data: PNG } }],
                },
              },
              { functionResponse: { id: "2", name: "shell_exec", response: { error: failed } } },
            ],
          },
        ],
      }),
    ]);
  });
});

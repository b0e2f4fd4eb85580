// An agent with `@google/genai`: the model's calls run in a sandbox, and it sees what they print and draw.
import type { Content, GoogleGenAI } from "@google/genai";
import { type ToolSet, toGoogleResult, toGoogleTools } from "skerry/tools";

const MOST_TURNS = 20;

/** Asks a model, which may use the tools before it answers. */
export async function askGoogle(client: GoogleGenAI, model: string, tools: ToolSet, question: string) {
  const contents: Content[] = [{ role: "user", parts: [{ text: question }] }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const response = await client.models.generateContent({
      model,
      contents,
      config: { tools: toGoogleTools(tools) },
    });
    const { functionCalls: calls = [], candidates = [] } = response;
    if (calls.length === 0) return response.text ?? "";
    const results = await Promise.all(
      calls.map(async (call) => toGoogleResult(await tools.call(call.name ?? "", call.args), call)),
    );
    // With what the model thought, which it wants back.
    contents.push(candidates[0]?.content ?? {}, { role: "user", parts: results });
  }
  throw new Error(`No answer after ${MOST_TURNS} turns`);
}

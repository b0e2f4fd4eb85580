// An agent with `@anthropic-ai/sdk`: the model's calls run in a sandbox, and it sees what they print and draw.
import type Anthropic from "@anthropic-ai/sdk";
import { type ToolSet, toAnthropicResult, toAnthropicTools } from "skerry/tools";

const MOST_TURNS = 20;

/** Asks a model, which may use the tools before it answers. */
export async function askAnthropic(client: Anthropic, model: string, tools: ToolSet, question: string) {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const { content, stop_reason } = await client.messages.create({
      model,
      max_tokens: 8192,
      messages,
      tools: toAnthropicTools(tools),
    });
    if (stop_reason !== "tool_use") {
      return content.map((block) => (block.type === "text" ? block.text : "")).join("");
    }
    const calls = content.filter((block) => block.type === "tool_use");
    const results = await Promise.all(
      calls.map(async ({ id, name, input }) => toAnthropicResult(await tools.call(name, input), id)),
    );
    messages.push({ role: "assistant", content }, { role: "user", content: results });
  }
  throw new Error(`No answer after ${MOST_TURNS} turns`);
}

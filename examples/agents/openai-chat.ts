// An agent with `openai` and chat completions: the model's calls run in a sandbox, and it sees what they print and draw.
import type OpenAI from "openai";
import { type ToolSet, toOpenAiMessages, toOpenAiTools } from "skerry/tools";

const MOST_TURNS = 20;

/** Asks a model, which may use the tools before it answers. */
export async function askChat(client: OpenAI, model: string, tools: ToolSet, question: string) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const { choices } = await client.chat.completions.create({
      model,
      messages,
      tools: toOpenAiTools(tools),
    });
    const message = choices[0]?.message;
    const calls = message?.tool_calls?.filter((call) => call.type === "function") ?? [];
    if (message === undefined || calls.length === 0) return message?.content ?? "";
    const answers = await Promise.all(
      calls.map(async ({ id, function: { name, arguments: json } }) => ({
        id,
        reply: await tools.call(name, json),
      })),
    );
    messages.push(message, ...toOpenAiMessages(answers));
  }
  throw new Error(`No answer after ${MOST_TURNS} turns`);
}

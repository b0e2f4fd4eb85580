// An agent with the Vercel AI SDK: the model's calls run in a sandbox, and it sees what they print and draw.
import { generateText, type LanguageModel } from "ai";
import { type ToolSet, toVercelTools } from "skerry/tools";

const MOST_TURNS = 20;

/** Asks a model, which may use the tools before it answers. */
export async function askVercel(model: LanguageModel, tools: ToolSet, question: string) {
  const { text } = await generateText({
    model,
    tools: toVercelTools(tools),
    prompt: question,
    stopWhen: ({ steps }) => steps.length >= MOST_TURNS,
  });
  return text;
}

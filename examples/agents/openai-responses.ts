// An agent with `openai` and the Responses API: the model's calls run in a sandbox, and it sees what they print and draw.
import type OpenAI from "openai";
import { type ToolSet, toOpenAiResponsesResult, toOpenAiResponsesTools } from "skerry/tools";

const MOST_TURNS = 20;

/** Asks a model, which may use the tools before it answers. */
export async function askResponses(client: OpenAI, model: string, tools: ToolSet, question: string) {
  let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: question }];
  let previous: string | null = null;
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const response: OpenAI.Responses.Response = await client.responses.create({
      model,
      input,
      previous_response_id: previous,
      tools: toOpenAiResponsesTools(tools),
    });
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return response.output_text;
    input = await Promise.all(
      calls.map(async ({ call_id, name, arguments: json }) =>
        toOpenAiResponsesResult(await tools.call(name, json), call_id),
      ),
    );
    previous = response.id;
  }
  throw new Error(`No answer after ${MOST_TURNS} turns`);
}

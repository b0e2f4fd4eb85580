import type { Sandbox } from "../../src/index.js";
import type { Context } from "./attack.js";

/** Starts a command in the background; resolves when it has printed something. */
export async function startInBackground(context: Context, sandbox: Sandbox, code: string, timeoutMs: number) {
  const events = sandbox
    .exec(["python3", "-c", context.prelude(code)], { stream: true, timeoutMs })
    [Symbol.asyncIterator]();
  let [stdout, ended] = ["", false];
  const advance = async () => {
    const { value, done } = await events.next();
    if (value?.type === "stdout") stdout += value.data.toString();
    ended = done === true || value.type === "exit";
  };
  while (stdout === "" && !ended) await advance();
  const rest = (async () => {
    while (!ended) await advance();
  })().catch(() => undefined);
  return { output: () => rest.then(() => stdout) };
}

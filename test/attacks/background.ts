import type { Execution } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";
import type { Context } from "./attack.js";

/** A program that goes on while the attack does. */
export interface Background {
  /** Resolves at its end, to what it printed. */
  output(): Promise<string>;
}

/** Starts a command in the background; resolves when it has printed something. */
export async function startInBackground(
  context: Context,
  sandbox: RunningSandbox,
  code: string,
  timeoutMs: number,
): Promise<Background> {
  return goOn(sandbox.exec(["python3", "-c", context.prelude(code)], { timeoutMs }));
}

/** Resolves when a streamed execution has printed something or ended, and lets it go on: to leave its events would end it. */
export async function goOn(execution: Execution): Promise<Background> {
  const events = execution[Symbol.asyncIterator]();
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

import { textOf } from "../call/checked-call.js";
import type { ProcessCall } from "../call/start-process.js";
import type { HandleHost } from "./handle-host.js";
import { addCall } from "./live-call.js";
import { LiveProcess } from "./live-process.js";

/** Starts a process that the session's handles and tools see. The signal kills it, also when it runs. */
export async function startLiveProcess(
  host: Pick<HandleHost, "startProcess" | "liveCalls">,
  { signal, ...call }: ProcessCall & { readonly sessionId: string },
): Promise<LiveProcess> {
  const starting = new AbortController();
  let kill = () => starting.abort();
  const onAbort = () => kill();
  if (signal instanceof AbortSignal) {
    if (signal.aborted) kill();
    else signal.addEventListener("abort", onAbort, { once: true });
  }
  const started = await host.startProcess({
    ...call,
    signal: signal === undefined || signal instanceof AbortSignal ? starting.signal : signal,
  });
  const { processes, outputs } = await host.liveCalls(call.sessionId);
  const process = new LiveProcess(started, textOf(call), outputs);
  kill = () => void started.signal("SIGKILL");
  if (signal?.aborted === true) kill();
  const forget = () => signal?.removeEventListener("abort", onAbort);
  started.exit.then(forget, forget);
  addCall(processes, process);
  return process;
}

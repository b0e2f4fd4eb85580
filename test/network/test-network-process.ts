/** The process inside the test network: does what its parent asks for, and ends with it. Its directory is the first argument. */
import { NetworkNamespace } from "./network-namespace.js";
import type { Answer, Question } from "./test-network.js";

const inside = new NetworkNamespace(process.argv[2]!);
const answer = (message: Answer) => process.connected && process.send!(message);

process.on("message", ({ id, method, args }: Question) => {
  const call = inside[method] as (...args: unknown[]) => unknown;
  Promise.resolve()
    .then(() => call.apply(inside, args as unknown[]))
    .then(
      (value) => answer({ id, value }),
      (error: unknown) =>
        answer({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
});
process.once("disconnect", () => {
  inside.end().finally(() => process.exit());
});
answer({ id: 0, value: undefined });

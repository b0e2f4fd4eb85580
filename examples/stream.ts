// Output as it happens, and a program that is ended early:
//   node dist-bench/examples/stream.js
import { Sandbox } from "skerry";

await using sandbox = await Sandbox.create({ ephemeral: true });

const steps = 'for step in 1 2 3; do echo "step $step"; sleep 0.1; done; echo done >&2';
for await (const event of sandbox.exec(["sh", "-c", steps])) {
  if (event.type === "stdout" || event.type === "stderr")
    process.stdout.write(`${event.type}: ${event.text}`);
  else if (event.type === "exit") console.log(`exit: ${event.result.exitCode}`);
}

// A caller that has seen enough cancels; nothing of the program stays alive.
const enough = new AbortController();
let bytes = 0;
for await (const event of sandbox.exec(["yes"], { signal: enough.signal })) {
  if (event.type === "stdout") bytes += event.data.length;
  if (bytes > 1_000_000) enough.abort();
  if (event.type === "exit") console.log(`yes: ${event.result.reason}`);
}

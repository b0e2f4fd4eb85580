/** A host process that is killed in the middle: opens a sandbox, starts what is to die with it, and says so. */
import { SandboxManager } from "../../src/index.js";

const { backend, stateDir, mark } = JSON.parse(process.argv[2] ?? "{}") as Record<string, string>;
const manager = new SandboxManager({ backend: backend!, stateDir: stateDir! });
const sandbox = await manager.getSandbox("victim", { ephemeral: true });
const command = `sleep ${mark} & setsid sh -c '(sleep ${mark} &) ; sleep ${mark}' & echo ready; wait`;
for await (const event of sandbox.exec(["bash", "-c", command], { stream: true })) {
  if (event.type === "stdout") process.stdout.write("ready\n");
}

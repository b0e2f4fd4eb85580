/** A host process that is killed in the middle: opens a sandbox, starts what is to die with it, and says so. */
import { parseConfig, SandboxManager } from "../../src/index.js";

interface Orders {
  readonly backend: string;
  readonly stateDir: string;
  readonly mark: string;
  readonly config?: object;
}

const { backend, stateDir, mark, config = {} } = JSON.parse(process.argv[2] ?? "{}") as Orders;
const manager = new SandboxManager({ backend, stateDir, config: await parseConfig({ sandbox: config }) });
const sandbox = await manager.startSandbox("victim", { ephemeral: true });
const command = `sleep ${mark} & setsid sh -c '(sleep ${mark} &) ; sleep ${mark}' & echo ready; wait`;
for await (const event of sandbox.exec(["bash", "-c", command])) {
  if (event.type === "stdout") process.stdout.write("ready\n");
}

// A backend from outside the package. This one keeps a list of the sandboxes it started and leaves the work to a
// built-in one; a backend with an isolation of its own implements the same three methods.
//   node dist-bench/examples/custom-backend.js
import { SandboxManager } from "skerry";
import {
  type BackendContext,
  type CreateSpec,
  getBackend,
  type Instance,
  type Probe,
  registerBackend,
  type SandboxBackend,
} from "skerry/backend";

class LoggingBackend implements SandboxBackend {
  readonly name = "logging";
  readonly #inner: Promise<SandboxBackend>;

  constructor(context: BackendContext) {
    // No walls: for development only, and "auto" never chooses it, because `capabilities.isolates` is false.
    this.#inner = getBackend("subprocess", context);
  }

  async probe(): Promise<Probe> {
    return (await this.#inner).probe();
  }

  async create(spec: CreateSpec): Promise<Instance> {
    const instance = await (await this.#inner).create(spec);
    console.log(`started a sandbox for ${spec.sessionKey}`);
    void instance.runner.closed.then(() => console.log(`stopped the sandbox of ${spec.sessionKey}`));
    return instance;
  }

  async reap(): Promise<number> {
    return (await this.#inner).reap();
  }
}

registerBackend("logging", (context) => new LoggingBackend(context));

await using manager = new SandboxManager({ backend: "logging" });
await using sandbox = await manager.getSandbox("example-backend", { ephemeral: true });
const { stdout, sandboxType } = await sandbox.exec(["echo", "hello"]);
console.log(`${sandboxType}: ${stdout.trim()}`);

import { afterEach, beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../../runtime/backends/backend.js";
import { getBackend, registerBackend } from "../../../runtime/backends/registry.js";
import type { RunRequest, WarmRequest } from "../../../runtime/wire/runner.js";
import { SandboxManager } from "../sandbox-manager.js";

let stateDir: string;
let manager: SandboxManager;
let seen: string[];
let fails: boolean;

/** A backend whose languages have places of their own, as far as the sandbox can see. */
registerBackend("subprocess-by-language", (context) => {
  const inner = getBackend("subprocess", context);
  return {
    name: "subprocess-by-language",
    probe: async (options) => (await inner).probe(options),
    create: async (spec) => prepares(await (await inner).create(spec)),
    reap: async () => (await inner).reap(),
  };
});

function prepares(instance: Instance): Instance {
  const runner = Object.create(instance.runner, {
    run: {
      value: (request: RunRequest) => {
        seen.push(`run ${request.language ?? request.argv[0]}`);
        return instance.runner.run(request);
      },
    },
    warm: {
      value: (request: WarmRequest) => {
        seen.push(`warm ${request.language}`);
        return instance.runner.warm(request);
      },
    },
  });
  return Object.create(instance, {
    runner: { value: runner },
    destroy: { value: () => instance.destroy() },
    memoryKills: { value: () => instance.memoryKills() },
    prepareLanguage: {
      value: async (language: string) => {
        seen.push(`prepare ${language}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (fails) throw new SandboxError("SANDBOX_START_FAILED", "no such image");
        seen.push(`prepared ${language}`);
      },
    },
  });
}

beforeEach(() => {
  seen = [];
  fails = false;
  stateDir = temporaryDirectory();
  manager = new SandboxManager({ stateDir, backend: "subprocess-by-language", warm: false });
});

afterEach(() => manager.close());

it("prepares a language before its first program, once, also for programs at the same time", async () => {
  const sandbox = await manager.startSandbox("s");
  const run = () => sandbox.runCode("true", { language: "bash" });
  await Promise.all([run(), run()]);
  await sandbox.exec(["true"]);
  expect(seen).toEqual(["prepare bash", "prepared bash", "run bash", "run bash", "run true"]);
  await sandbox.runCode("0", { language: "js" });
  expect(seen.slice(5)).toEqual(["prepare javascript", "prepared javascript", "run javascript"]);
});

it("prepares a language before its first interpreter is kept warm", async () => {
  await manager.close();
  manager = new SandboxManager({ stateDir, backend: "subprocess-by-language" });
  const sandbox = await manager.startSandbox("s");
  await sandbox.prewarm("python");
  expect(seen.slice(0, 3)).toEqual(["prepare python", "prepared python", "warm python"]);
});

it("runs nothing where a language cannot be prepared, and tries again the next time", async () => {
  const sandbox = await manager.startSandbox("s");
  fails = true;
  const failed = sandbox.runCode("true", { language: "bash" });
  await expect(failed).rejects.toThrow(expect.objectContaining({ code: "SANDBOX_START_FAILED" }));
  fails = false;
  expect((await sandbox.runCode("true", { language: "bash" })).success).toBe(true);
  expect(seen).toEqual(["prepare bash", "prepare bash", "prepared bash", "run bash"]);
  expect((await sandbox.files.list()).length).toBe(0);
});

import { expect } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";

const { it } = requires("linux", "python3");

it("gives every command its own limits, also where a program could change the guest's", async () => {
  const sandbox = await openManager({ backend: "subprocess" }).startSandbox("limits");
  const limit = "import os, resource; size = resource.RLIMIT_FSIZE; hard = resource.getrlimit(size)[1]; ";
  const run = async (code: string) => (await sandbox.exec(["python3", "-c", limit + code])).stdout.trim();
  const before = await run("print(resource.getrlimit(size))");
  const changed =
    "resource.prlimit(os.getppid(), size, (4096, hard)); print(resource.prlimit(os.getppid(), size)[0])";
  expect(await run(changed)).toBe("4096");
  expect(await run("print(resource.getrlimit(size))")).toBe(before);
});

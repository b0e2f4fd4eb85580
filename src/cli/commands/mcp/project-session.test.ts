import { join } from "node:path";
import { expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { requires } from "../../../../test/setup/requires.js";
import { SandboxManager } from "../../../core/manager/index.js";
import { createTools } from "../../../core/tools/index.js";
import { withCheckpoints } from "./project-session.js";

const { it } = requires("linux", "bubblewrap");

it("deletes old checkpoints of its own, in a later process, too, and no snapshot of a person", async () => {
  await using manager = new SandboxManager({
    stateDir: join(temporaryDirectory(), "state"),
    backend: "bubblewrap",
  });
  const warnings: string[] = [];
  const tools = () =>
    withCheckpoints(createTools(manager, { sessionId: "s" }), manager, "s", (line) => warnings.push(line));
  const sandbox = await manager.startSandbox("s");
  for (const name of ["before I try something", "before file_write"]) await sandbox.snapshot({ name });
  const options = {
    signal: new AbortController().signal,
    ask: () => Promise.reject(new Error("nobody is asked")),
  };
  const first = tools();
  for (let count = 0; count < 26; count++)
    await first.call("file_write", { path: "a", content: `${count}` }, options);
  const second = tools();
  for (let count = 0; count < 26; count++)
    await second.call("file_write", { path: "a", content: `${count}` }, options);
  const names = (await sandbox.listSnapshots()).map(({ name }) => name);
  expect(warnings).toEqual([]);
  expect(names).toHaveLength(52);
  expect(names.slice(-2)).toEqual(["before file_write", "before I try something"]);
});

import { execFileSync } from "node:child_process";
import { expect, it as plainIt } from "vitest";
import { openManager } from "../../../test/setup/open-manager.js";
import { requires } from "../../../test/setup/requires.js";
import { parsePolicy } from "../../guard/policy/index.js";
import { parseConfig } from "../config/index.js";
import { createTools } from "./create-tools.js";
import { describeSandbox } from "./describe-sandbox.js";

const { it } = requires("linux", "bubblewrap", "python3");

async function linesOf(sandbox: object, options = {}) {
  const config = await parseConfig({ sandbox: sandbox as Record<string, never> });
  return describeSandbox(openManager({ config, ...options }).facts);
}

plainIt("says what can be reached, and within which limits", async () => {
  expect(await linesOf({})).toEqual([
    "The person's own files are not here: put what is needed into the workspace, or ask for it.",
    "No network.",
    "Limits: 512 MiB of memory for everything together, 128 processes, 300 s for a call.",
  ]);
  const open = { network: { allowedDomains: ["api.example.com", "host.skerry.internal:8080"] } };
  expect(
    (await linesOf({ ...open, limits: { memory: "1gb", pids: 9 }, runtime: { timeout: "5s" } })).slice(1),
  ).toEqual([
    "It reaches only api.example.com, host.skerry.internal:8080.",
    "Limits: 1024 MiB of memory for everything together, 9 processes, 5 s for a call.",
  ]);
  expect((await linesOf({ network: { internet: true } }))[1]).toBe("It reaches public hosts.");
  const many = Array.from({ length: 10 }, (_, index) => `h${index}.example`);
  expect((await linesOf({ network: { allowedDomains: many } }))[1]).toMatch(/h7\.example and 2 more\.$/);
  expect((await linesOf({ filesystem: { allowRead: ["/srv/data"], allowWrite: ["/srv/out"] } }))[0]).toBe(
    "Of the person's files only these are here: /srv/data, /srv/out (writable).",
  );
  const policy = parsePolicy("policies: {agent_roles: {dev: {tools: [shell_exec]}}}", "p.yaml");
  expect((await linesOf(open, { policy }))[1]).toBe("A policy decides which hosts it reaches.");
});

plainIt("stands in the text of the tools that reach something", async () => {
  const tools = createTools(openManager(), { sessionId: "s" });
  for (const { name, description } of tools.list())
    expect([name, description.includes("No network.")]).toEqual([
      name,
      ["run_code", "shell_exec"].includes(name),
    ]);
});

it("finds what is installed inside", async () => {
  const manager = openManager({ backend: "bubblewrap" });
  const found = await manager.findPrograms();
  const python = execFileSync("/usr/bin/python3", ["-V"], { encoding: "utf8" }).trim();
  expect(found.programs).toContain(python);
  expect(describeSandbox(manager.facts, found).at(-1)).toMatch(/^Installed: .*Python 3\./);
  expect(manager.sandboxCount).toBe(0);
});

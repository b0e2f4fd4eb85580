import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanUp, temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { requires } from "../../../../test/setup/requires.js";

const ROOT = join(import.meta.dirname, "../../../..");
const WITHOUT_PTRACE = ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", process.execPath];

const { describe, it } = requires("linux", "root", "bubblewrap");

/** Opens a directory through another user's process, and prints the error. */
const OPEN = `
const { openWorkspace } = await import(process.argv[1]);
const chosen = { backend: { name: "x" }, probe: { capabilities: { sharedWorkspace: true } } };
try { openWorkspace({ hostWorkspace: process.argv[2] }, chosen, {}); }
catch ({ code, message, hint }) { console.log(JSON.stringify({ code, message, hint })); }`;

describe("root without CAP_SYS_PTRACE", () => {
  it("hears that it needs it, not that limits are too small", async () => {
    const sleeping = spawn("setpriv", ["--reuid", "65534", "--clear-groups", "sleep", "60"]);
    cleanUp(async () => {
      sleeping.kill();
      await once(sleeping, "exit");
    });
    await once(sleeping, "spawn");
    const module = join(ROOT, "dist/core/manager/sandboxes/open-workspace.js");
    const script = [...WITHOUT_PTRACE, "--input-type=module", "-e", OPEN, module];
    const open = () =>
      spawnSync("setpriv", [...script, `/proc/${sleeping.pid}/root/tmp`], { encoding: "utf8" }).stdout;
    // Until it is another user's.
    await expect.poll(open).not.toBe("");
    expect(JSON.parse(open())).toEqual({
      code: "BACKEND_UNAVAILABLE",
      message: "This process may not look into the sandbox that it has started",
      hint: "Root needs CAP_SYS_PTRACE for that: start the container with it, or Skerry outside of one.",
    });
  });

  it.each(["SYS_PTRACE", "SYS_ADMIN"])("runs without %s, and says what is not limited", (name) => {
    const stateDir = join(temporaryDirectory(), "state");
    const command = [join(ROOT, "dist/bin/skerry.cjs"), "exec", "--json", "--", "true"];
    const drop = [`--bounding-set=-${name.toLowerCase()}`, `--inh-caps=-${name.toLowerCase()}`];
    const { stdout, stderr } = spawnSync("setpriv", [...drop, process.execPath, ...command], {
      env: { PATH: process.env["PATH"], SKERRY_STATE_DIR: stateDir },
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      reason: "exited",
      limitsNotEnforced: expect.arrayContaining(["workspace"]),
    });
  });
});

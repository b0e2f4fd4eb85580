import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { SandboxError, systemCode } from "../../../../kit/errors.js";
import type { Runner } from "../../../wire/index.js";
import { GUEST_WORKSPACE } from "../../linux/guest-layout.js";

/**
 * Makes sure that a container has the host's directory as its workspace: a daemon in another mount namespace, or on
 * another machine, would give it some other one. False: there is no room to find out.
 */
export async function checkShare(runner: Runner, workspace: string): Promise<boolean> {
  const name = `.skerry-${randomBytes(12).toString("hex")}`;
  const path = join(workspace, name);
  try {
    writeFileSync(path, name, { mode: 0o644, flag: "wx" });
    const seen = await buffer(runner.readFile(`${GUEST_WORKSPACE}/${name}`));
    if (seen.toString() === name) return true;
  } catch (error) {
    if (systemCode(error) === "ENOSPC" || systemCode(error) === "EDQUOT") return false;
    if (!(error instanceof SandboxError) || error.code !== "FILE_NOT_FOUND") throw error;
  } finally {
    rmSync(path, { force: true });
  }
  throw new SandboxError("BACKEND_UNAVAILABLE", "the Docker daemon does not see this host's directories", {
    hint: "Set backends.docker.shareFiles to never: files then go over the wire.",
  });
}

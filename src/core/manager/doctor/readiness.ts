import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { toSandboxError } from "../../../kit/errors.js";
import { expandHome } from "../../../kit/expand-home.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import type { Capabilities } from "../../../runtime/backends/index.js";
import type { Config } from "../../config/index.js";

/** One thing to have in order before agents are let in. */
export interface ChecklistItem {
  readonly what: string;
  readonly ok: boolean;
  /** What was found, or what to do about it. */
  readonly detail: string;
}

/** Checks what to have in order before a deployment; docs/operations.md lists it. */
export async function checkReadiness(
  config: Config,
  backend: { readonly name: string; readonly capabilities: Capabilities } | undefined,
): Promise<ChecklistItem[]> {
  const can = backend?.capabilities;
  const name = backend?.name ?? "no backend";
  return [
    {
      what: "code runs behind a boundary, as a user of its own, with its system calls filtered",
      ok: can?.isolates === true,
      detail: can?.isolates === true ? name : "no backend isolates here; skerry doctor --fix may get one",
    },
    {
      what: "the network is off, or opened host by host",
      ok: can !== undefined && can.network !== "all-or-nothing",
      detail: can === undefined ? name : `${name}: ${can.network}`,
    },
    checkLimits(can),
    checkAudit(config),
    await checkPolicyFile(config),
  ];
}

function checkLimits(can: Capabilities | undefined): ChecklistItem {
  const limits = {
    memory: can?.memoryLimit,
    cpu: can?.cpuLimit,
    processes: can?.pidsLimit,
    workspace: can?.workspaceLimit,
  };
  const missing = Object.entries(limits).flatMap(([limit, enforced]) => (enforced === true ? [] : [limit]));
  return {
    what: "memory, cpu, processes and files can be limited",
    ok: missing.length === 0,
    detail: missing.length === 0 ? "all of them" : `not here: ${missing.join(", ")}`,
  };
}

function checkAudit({ sandbox }: Config): ChecklistItem {
  const what = "every call is recorded";
  if (!sandbox.audit.enabled) return { what, ok: false, detail: "sandbox.audit.enabled is false" };
  const stateDir = stateDirectoryOf(sandbox);
  let directory = expandHome(sandbox.audit.directory ?? join(stateDir, "audit"));
  // What is not there yet is made with the first record, if its parent lets us.
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return { what, ok: true, detail: "the audit log can be written" };
  } catch {
    return {
      what,
      ok: false,
      detail: "the audit log's directory cannot be written: see sandbox.audit.directory",
    };
  }
}

async function checkPolicyFile({ sandbox }: Config): Promise<ChecklistItem> {
  const what = "a policy says what agents may do";
  const { file } = sandbox.policy;
  if (file === undefined) {
    return {
      what,
      ok: false,
      detail: "none: everything may run. skerry policy init prints one; set sandbox.policy.file",
    };
  }
  const { loadPolicy } = await import("../../../guard/policy/index.js");
  try {
    const { tools, roles } = await loadPolicy(expandHome(file));
    return { what, ok: true, detail: `${tools.size} tools, ${roles.size} roles` };
  } catch (error) {
    return { what, ok: false, detail: toSandboxError(error).message.split("\n")[0]! };
  }
}

import type { BackendContext, SandboxBackend } from "../backend.js";
import { ContainerBackend } from "../containers/container-backend.js";
import type { KernelRuntime } from "../containers/kernel-runtime.js";
import { loadSeccompFilter } from "../linux/seccomp/filter.js";
import { inspectRunsc } from "./inspect-runsc.js";
import { remedyForRunsc } from "./register-runsc.js";
import { GVISOR_DEFAULTS } from "./settings.js";

const GVISOR_RUNTIME: KernelRuntime = {
  title: "gVisor",
  hostThreads: 4096,
  guestCapabilities: ["KILL", "SETUID", "SETGID", "SETPCAP", "SYS_ADMIN"],
  guestArguments: ({ uid, gid }) => ["--gvisor", String(uid), String(gid)],
  loadFilter: (architecture) => loadSeccompFilter(architecture, "gvisor"),
  remedyFor: remedyForRunsc,
  inspect: inspectRunsc,
};

/** Docker's containers, with gVisor's kernel between them and this one. */
export function createGvisorBackend(context: BackendContext): SandboxBackend {
  return new ContainerBackend(context, {
    name: "gvisor",
    defaults: GVISOR_DEFAULTS,
    ownKernel: GVISOR_RUNTIME,
  });
}

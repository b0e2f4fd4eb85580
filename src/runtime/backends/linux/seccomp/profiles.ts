import { allowWhen, low, lowExcept, PROFILE } from "./profile.js";
import type { SeccompProfile } from "./profile-format.js";

const FIRST_PROCESS = 1;
/** Calls that name a process in their first argument and can send it a signal, or get hold of it for that. */
const SIGNAL_CALLS = ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"];

/** Linux spares the first process of a namespace, which is the guest, the signals of the others; gVisor does not. */
const GVISOR_PROFILE: SeccompProfile = {
  ...PROFILE,
  syscalls: [
    ...PROFILE.syscalls.map((rule) => ({
      ...rule,
      names: rule.names.filter((name) => !SIGNAL_CALLS.includes(name)),
    })),
    ...SIGNAL_CALLS.flatMap((name) =>
      allowWhen(
        "To every process but the first",
        name,
        lowExcept(0, [FIRST_PROCESS]).map((condition) => [condition]),
      ),
    ),
  ],
};

/** CLONE_NEWUSER, NEWNS, NEWPID, NEWIPC, NEWNET, all of them; guest/src/cell.h has the same. */
const CELL_NAMESPACES = 0x78020000;

/** For a guest that makes cells. Programs never run behind this alone: each gets the sandbox's own besides. */
const CELLS_PROFILE: SeccompProfile = {
  ...PROFILE,
  syscalls: [
    ...PROFILE.syscalls,
    ...allowWhen("The namespaces of a cell, all at once", "unshare", [[low(0, CELL_NAMESPACES)]]),
    { names: ["mount"], action: "SCMP_ACT_ALLOW", comment: "A cell's own files" },
  ],
};

/** What is compiled: for programs on this kernel, for programs inside gVisor, for a guest that makes cells. */
export const PROFILES = { sandbox: PROFILE, gvisor: GVISOR_PROFILE, cells: CELLS_PROFILE } as const;
export type ProfileName = keyof typeof PROFILES;

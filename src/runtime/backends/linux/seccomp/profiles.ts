import { allowExcept, allowWhen, IOCTL, low, PROFILE } from "./profile.js";
import type { SeccompProfile } from "./profile-format.js";

const FIRST_PROCESS = 1;
/** Calls that name a process in their first argument and can send it a signal, or get hold of it for that. */
const SIGNAL_CALLS = ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"];

/** F_SETOWN, F_SETSIG and F_SETOWN_EX, and the same as ioctls: they have the kernel send a signal to any process. */
const FCNTL_OWNER = { SETOWN: 8, SETSIG: 10, SETOWN_EX: 15 };
const IOCTL_OWNER = { FIOSETOWN: 0x8901, SIOCSPGRP: 0x8902 };

const GVISOR_RULES = [
  ...SIGNAL_CALLS.flatMap((name) => allowExcept("To every process but the first", name, 0, [FIRST_PROCESS])),
  ...allowExcept("All but who is sent a signal", "fcntl", 1, Object.values(FCNTL_OWNER)),
  ...allowExcept("As in a sandbox, without who is sent a signal", "ioctl", 1, [
    ...Object.values(IOCTL),
    ...Object.values(IOCTL_OWNER),
  ]),
];

/** Linux spares the first process of a namespace, which is the guest, the signals of the others; gVisor does not. */
const GVISOR_PROFILE: SeccompProfile = {
  ...PROFILE,
  syscalls: [
    ...PROFILE.syscalls.flatMap((rule) => {
      const names = rule.names.filter((name) => !GVISOR_RULES.some((own) => own.names.includes(name)));
      return names.length === 0 ? [] : [{ ...rule, names }];
    }),
    ...GVISOR_RULES,
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

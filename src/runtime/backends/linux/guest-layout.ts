/** Where programs inside find their workspace, and the guest with its runners. */
export const GUEST_WORKSPACE = "/workspace";
export const GUEST_RUNTIME = "/opt/skerry";

/** The environment that every command inside starts from. */
export const BASE_ENV = {
  PATH: `/usr/local/bin:/usr/bin:/bin:${GUEST_RUNTIME}/bin`,
  HOME: GUEST_WORKSPACE,
  USER: "agent",
  LOGNAME: "agent",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
} as const;

/** What all of that is for an instance. */
export const GUEST_LAYOUT = {
  guestWorkspace: GUEST_WORKSPACE,
  guestRuntime: GUEST_RUNTIME,
  baseEnv: BASE_ENV,
} as const;

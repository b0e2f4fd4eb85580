import { PROFILE } from "../../linux/seccomp/profile.js";

let written: string | undefined;

/** Our seccomp profile in the words of container daemons. */
export function seccompProfile(): string {
  written ??= JSON.stringify({
    defaultAction: PROFILE.defaultAction,
    ...(PROFILE.defaultErrnoRet !== undefined && { defaultErrnoRet: PROFILE.defaultErrnoRet }),
    archMap: PROFILE.archMap,
    // What a rule is for is said to people; daemons differ in what else they accept.
    syscalls: PROFILE.syscalls.map(({ comment: _, ...rule }) => rule),
  });
  return written;
}

/** As Docker takes it: in the request, since the daemon may be another machine's. */
export function seccompOption(): string {
  return `seccomp=${seccompProfile()}`;
}

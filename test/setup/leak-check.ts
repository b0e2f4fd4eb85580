import { findLeaks, readHostState, reportLeaks } from "./leaks.js";

/** Looks at the end of the run whether anything of it is left on the host. */
export default function setup(): () => Promise<void> {
  const before = readHostState();
  return () => reportLeaks(() => findLeaks(before, readHostState(), process.pid));
}

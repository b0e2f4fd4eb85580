import { findLeaks, readForeignFiles, readHostState, reportLeaks } from "./leaks.js";

/** Looks at the end of the run whether anything of it is left on the host. */
export default function setup(): () => Promise<void> {
  const before = readHostState();
  const foreign = new Set(readForeignFiles());
  return async () => {
    const strange = readForeignFiles().filter((path) => !foreign.has(path));
    if (strange.length > 0)
      console.warn(`\nNew files, perhaps of other processes:\n  ${strange.join("\n  ")}\n`);
    await reportLeaks(() => findLeaks(before, readHostState(), process.pid));
  };
}

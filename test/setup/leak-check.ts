import { setTimeout as delay } from "node:timers/promises";
import { findLeaks, readForeignFiles, readHostState } from "./leaks.js";

/** The kernel takes a moment to remove what was just killed. */
const GRACE_MS = 5000;

/**
 * Fails the run when anything of it is left on the host. `SKERRY_LEAK_CHECK=warn` only prints: for when somebody else
 * uses Skerry on the same machine at the same time.
 */
export default function setup(): () => Promise<void> {
  const before = readHostState();
  const foreign = new Set(readForeignFiles());
  return async () => {
    const strange = readForeignFiles().filter((path) => !foreign.has(path));
    if (strange.length > 0)
      console.warn(`\nNew since, perhaps somebody else's:\n  ${strange.join("\n  ")}\n`);
    const deadline = Date.now() + GRACE_MS;
    let leaks = findLeaks(before, readHostState(), process.pid);
    while (leaks.length > 0 && Date.now() < deadline) {
      await delay(100);
      leaks = findLeaks(before, readHostState(), process.pid);
    }
    if (leaks.length === 0) return;
    console.error(`\nThe run left ${leaks.length} thing(s) behind:\n  ${leaks.join("\n  ")}\n`);
    // Vitest only logs what a teardown throws.
    if (process.env.SKERRY_LEAK_CHECK !== "warn") process.exitCode = 1;
  };
}

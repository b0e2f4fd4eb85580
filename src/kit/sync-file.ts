import { open } from "node:fs/promises";
import { systemCode } from "./errors.js";

/** Resolves when what was written to a file or directory is on disk; also when it is gone. */
export async function syncFile(path: string): Promise<void> {
  try {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

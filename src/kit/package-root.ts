import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's own directory, wherever in it this code ended up: in src/, in dist/, or in the command's bundle. */
export const PACKAGE_ROOT = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(directory: string): string {
  return existsSync(join(directory, "package.json")) ? directory : findRoot(dirname(directory));
}

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Calls that change the whole process, and so would change what other test files in it see. */
const CHANGES_PROCESS = /\bvi\.(?:mock|doMock|useFakeTimers)\(|\bregisterBackend\(|\bprocess\.chdir\(/;
/** Files that run a whole suite of minutes. */
const LARGE = /(?:^|\/)testing\//;

/** The test files under a directory that need a process of their own. */
export function findIsolatedTestFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(directory, name))
    .filter((path) => LARGE.test(path) || CHANGES_PROCESS.test(readFileSync(path, "utf8")))
    .sort();
}

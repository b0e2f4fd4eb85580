import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a test does to its whole process: other files in it would have that too. */
const TO_THE_PROCESS = /\bvi\.(?:mock|doMock|useFakeTimers)\(|\bregisterBackend\(|\bprocess\.chdir\(/;
/** Suites that are made elsewhere, and take minutes each. */
const LARGE = /^src\/testing\//;

/** The test files under a directory that need a process of their own. */
export function findLoners(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(directory, name))
    .filter((path) => LARGE.test(path) || TO_THE_PROCESS.test(readFileSync(path, "utf8")))
    .sort();
}

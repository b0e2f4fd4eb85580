import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, TestRunner } from "vitest";

type CleanUp = () => unknown;

const afterFile: CleanUp[] = [];

/** Has something done after the test that runs or, outside of a test, after the file: the last first, after the file's own hooks. */
export function cleanUp(task: CleanUp): void {
  if (TestRunner.getCurrentTest() === undefined) afterFile.push(task);
  else onTestFinished(async () => void (await task()));
}

/** What `clean-up-files.ts` does after every test file. */
export async function cleanUpAfterFile(): Promise<void> {
  const failures: unknown[] = [];
  for (let task = afterFile.pop(); task !== undefined; task = afterFile.pop()) {
    try {
      await task();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(failures, "Not everything of the test file was cleaned up");
}

/** A new directory that the users of sandboxes may pass through; it is removed after the test or the file. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "skerry-of-test-"));
  chmodSync(path, 0o711);
  cleanUp(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

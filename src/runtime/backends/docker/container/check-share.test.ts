import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { SandboxError } from "../../../../kit/errors.js";
import type { Runner } from "../../../wire/index.js";
import { checkShare } from "./check-share.js";

function containerSeeing(directory: string): Runner {
  const readFile = (path: string) => {
    try {
      return Readable.from([readFileSync(join(directory, basename(path)))]);
    } catch {
      return new Readable({ read: () => undefined }).destroy(new SandboxError("FILE_NOT_FOUND", "none"));
    }
  };
  return { readFile } as unknown as Runner;
}

it("accepts a container that sees the directory, and refuses one that sees another", async () => {
  const [ours, other] = [1, 2].map(() => mkdtempSync(join(tmpdir(), "skerry-share-"))) as [string, string];
  try {
    expect(await checkShare(containerSeeing(ours), ours)).toBe(true);
    await expect(checkShare(containerSeeing(other), ours)).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
    });
    expect(readdirSync(ours)).toEqual([]);
  } finally {
    for (const path of [ours, other]) rmSync(path, { recursive: true });
  }
});

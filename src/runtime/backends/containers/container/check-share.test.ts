import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
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
  const [ours, other] = [temporaryDirectory(), temporaryDirectory()];
  expect(await checkShare(containerSeeing(ours), ours)).toBe(true);
  await expect(checkShare(containerSeeing(other), ours)).rejects.toMatchObject({
    code: "BACKEND_UNAVAILABLE",
  });
  expect(readdirSync(ours)).toEqual([]);
});

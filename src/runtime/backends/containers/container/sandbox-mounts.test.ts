import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { requires } from "../../../../../test/setup/requires.js";
import { processLabel } from "../../../../kit/process-label.js";
import { findPrebuilt } from "../../guest-runtime.js";
import { orphanedMounts, reapMounts } from "./sandbox-mounts.js";

const { describe, it } = requires("root", "linux");

describe("mounts that killed processes left", () => {
  let stateDir: string;
  const guest = () => findPrebuilt().guest;

  beforeEach(() => {
    stateDir = temporaryDirectory();
  });

  function leave(name: string): string {
    const directory = join(stateDir, "mounts", name);
    mkdirSync(join(directory, "workspace"), { recursive: true, mode: 0o700 });
    return directory;
  }

  it("are removed past one that cannot be, which is reported; those of the living stay", async () => {
    const [first, last, own] = [leave("999999999-1-a"), leave("999999999-1-z"), leave(processLabel("own"))];
    const files = join(first, "workspace", "somebody's");
    writeFileSync(files, "x");
    await expect(reapMounts(stateDir, guest)).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringContaining("1 workspaces of ended processes cannot be removed"),
    });
    expect([files, last, own].map((path) => existsSync(path))).toEqual([true, false, true]);
  });

  it("are never looked for in what another user has put there", () => {
    leave("999999999-1-a");
    expect(orphanedMounts(stateDir).length).toBe(1);
    const link = temporaryDirectory();
    symlinkSync(join(stateDir, "mounts"), join(link, "mounts"));
    expect(() => orphanedMounts(link)).toThrow(/only this user can change/);
  });
});

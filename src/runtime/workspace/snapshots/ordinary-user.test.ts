import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bringBack, keep, SnapshotWorkspace } from "../../../../test/setup/snapshot-workspace.js";
import { contents } from "../../../../test/setup/synced-files.js";
import { removeTree } from "../remove-tree.js";

const NOBODY = 65534;
const isRoot = process.geteuid?.() === 0;
let kept: SnapshotWorkspace;

// Modes do not stop root, so this file runs as an ordinary user.
beforeAll(() => {
  if (isRoot) {
    process.setegid?.(NOBODY);
    process.seteuid?.(NOBODY);
  }
  kept = new SnapshotWorkspace();
});

afterAll(async () => {
  await removeTree(dirname(kept.base), basename(kept.base));
  if (isRoot) {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
});

describe("for an ordinary user", () => {
  it("closed directories are cleared, filled and closed again; what cannot be read is not left out silently", async () => {
    const at = (path: string) => join(kept.root, path);
    mkdirSync(at("closed/in"), { recursive: true });
    writeFileSync(at("closed/in/file"), "1", { mode: 0o400 });
    writeFileSync(at("closed/gone"), "1");
    chmodSync(at("closed/in"), 0o500);
    chmodSync(at("closed"), 0o500);
    const before = contents(kept.root);
    const store = kept.store();
    const workspace = await kept.directly({ denyWrite: ["*.pem"] });
    const { id } = await keep(store, workspace);

    chmodSync(at("closed"), 0o700);
    chmodSync(at("closed/in"), 0o700);
    writeFileSync(at("closed/in/new"), "");
    mkdirSync(at("other/deep"), { recursive: true });
    writeFileSync(at("other/deep/file"), "");
    mkdirSync(at("guarded"));
    writeFileSync(at("guarded/key.pem"), "mine");
    for (const path of ["closed/in", "closed", "other/deep", "other"]) chmodSync(at(path), 0o000);
    chmodSync(at("guarded"), 0o500);
    await expect(keep(store, workspace)).rejects.toThrow(
      expect.objectContaining({
        code: "FILE_DENIED",
        message: "The workspace cannot be looked through: not all of it may be read",
      }),
    );
    const report = await bringBack(store, workspace, id);
    expect(report.skipped.map(({ path }) => path)).toEqual(["guarded", "guarded/key.pem"]);
    expect(contents(kept.root)).toEqual({
      ...before,
      guarded: "500 directory",
      "guarded/key.pem": `644 ${Buffer.from("mine").toString("base64")}`,
    });
    expect(kept.onDisk().others).toEqual([]);
    workspace.close();
  });
});

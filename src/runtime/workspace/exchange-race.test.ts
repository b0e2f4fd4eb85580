import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { canRace, MARKER, outcomes, RACE_MS, startRace, useRaces } from "../../../test/setup/swap-race.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { diffSnapshots, takeSnapshot } from "./change-tracker.js";
import { removeTree } from "./remove-tree.js";

useRaces();

/** Waits until the swapper is at work on this tree. */
async function isSwapped(path: string): Promise<boolean> {
  const end = performance.now() + 100;
  while (performance.now() < end) {
    if (lstatSync(path).isSymbolicLink()) return true;
    await setImmediate();
  }
  return false;
}

const treeOf = (directory: string) => readdirSync(directory, { recursive: true }).sort();

describe("a directory swapped with a link to the outside in a tight loop", () => {
  it("never makes a read return what is outside", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, stop } = await startRace("read");
    const workspace = AgentWorkspace.open(root);
    const descriptors = readdirSync("/proc/self/fd").length;
    const counts = await outcomes(async (round) =>
      (await workspace.readFile(round % 2 === 0 ? "dir/file" : "dir/sub/file")).toString(),
    );
    // What other tests of this process had may go meanwhile.
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(descriptors);
    await stop();
    workspace.close();
    console.log("reads:", Object.fromEntries(counts));
    expect(
      [...counts.keys()].filter(
        (outcome) => outcome !== "inside" && outcome !== "PATH_TRAVERSAL" && outcome !== "FILE_TYPE",
      ),
    ).toEqual([]);
    // Both sides of the race were met, often: the test would have noticed a leak.
    expect(counts.get("inside")).toBeGreaterThan(20);
    expect(counts.get("PATH_TRAVERSAL")).toBeGreaterThan(20);
  });

  it("never makes a write, a new directory or a removal land outside", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, outside, stop } = await startRace("write");
    const before = treeOf(outside);
    const workspace = AgentWorkspace.open(root);
    const counts = await outcomes(async (round) => {
      const name = `w${round % 50}`;
      const turn = round % 5;
      if (turn === 0) await workspace.writeFile(`dir/${name}`, "x");
      else if (turn === 1) await workspace.writeNew(`dir/new/${round}`, "x");
      else if (turn === 2) await workspace.mkdir(`dir/made/${name}`);
      else if (turn === 3) await workspace.writeStream(`dir/sub/${name}`, ["x"]);
      else await workspace.remove("dir/new", { recursive: true });
      return "done";
    });
    await stop();
    workspace.close();
    console.log("writes:", Object.fromEntries(counts));
    expect(treeOf(outside)).toEqual(before);
    expect(readFileSync(join(outside, "sub/file"), "utf8")).toBe(MARKER);
    expect(counts.get("done")).toBeGreaterThan(20);
    expect(counts.get("PATH_TRAVERSAL")).toBeGreaterThan(20);
  });

  it("never makes a listing or a snapshot look outside", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, outside, stop } = await startRace("list");
    writeFileSync(join(outside, "only-outside"), MARKER);
    const workspace = AgentWorkspace.open(root);
    const empty = { files: new Map(), truncated: false, takenAtNs: 0n };
    const counts = await outcomes(async (round) => {
      const paths =
        round % 2 === 0
          ? (await workspace.list(".", { recursive: true })).map(({ path }) => path)
          : diffSnapshots(empty, takeSnapshot(workspace)).created;
      return paths.some((path) => path.includes("only-outside"))
        ? "leaked"
        : `saw ${paths.length > 2 ? "into" : "past"}`;
    });
    await stop();
    workspace.close();
    console.log("listings:", Object.fromEntries(counts));
    expect(counts.get("leaked")).toBeUndefined();
    expect(counts.get("saw into")).toBeGreaterThan(20);
  });

  it("never makes the removal of the tree remove what is outside", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, outside, stop } = await startRace("remove", "tree/");
    const before = treeOf(outside);
    await removeTree(root, "tree");
    const started = performance.now();
    const counts = { removed: 0, linksMet: 0 };
    // A busy machine gets more time to meet the race, up to a limit.
    const goesOn = () => performance.now() - started < (counts.linksMet > 20 ? 1 : 8) * RACE_MS;
    for (let round = 0; goesOn(); round++) {
      // Built outside of the swapped tree: this test's own calls would follow the link.
      const stage = join(root, `stage${round}`);
      mkdirSync(join(stage, "dir/sub/deep/er"), { recursive: true });
      for (const name of ["a", "b", "sub/c", "sub/file"]) writeFileSync(join(stage, "dir", name), "");
      symlinkSync(outside, join(stage, "other"));
      renameSync(stage, join(root, "tree"));
      if (await isSwapped(join(root, "tree/dir"))) counts.linksMet++;
      if (await removeTree(root, "tree")) counts.removed++;
    }
    console.log("removals:", counts);
    expect(counts.removed).toBeGreaterThan(5);
    expect(counts.linksMet).toBeGreaterThan(5);
    await stop();
    expect(treeOf(outside)).toEqual(before);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import {
  assertSound,
  bringBack,
  keep,
  kept,
  useSnapshotWorkspace,
} from "../../../../test/setup/snapshot-workspace.js";

/** What both programs do with a store. */
const LIBRARY = `
export { keepTree } from "SOURCE/runtime/workspace/snapshots/keep-tree.js";
export { SnapshotStore } from "SOURCE/runtime/workspace/snapshots/snapshot-store.js";
export { AgentWorkspace } from "SOURCE/runtime/workspace/index.js";
`;
const SETUP = `
import { writeFileSync } from "node:fs";
import { AgentWorkspace, keepTree, SnapshotStore } from "./library.mjs";
const [directory, root, number] = process.argv.slice(2);
const limits = { maxBytes: 2 ** 26, maxFiles: 1000, maxStoredBytes: 2 ** 30 };
const store = new SnapshotStore(() => directory, limits);
const { tree } = AgentWorkspace.open(root);
const keep = (more = {}) =>
  store.add({ sessionId: "test", ...more }, (stage) => keepTree(tree, stage, { limits, excluded: new Set() }));
`;
/** Kills itself at a step of its own, and says when it had none left. */
const ONCE = `
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
${SETUP}
let steps = Number(number);
for (const [module, names] of [[promises, ["link", "mkdir", "open", "rename", "rm", "unlink", "writeFile"]], [fs, ["renameSync"]]]) {
  for (const name of names) {
    const original = module[name];
    module[name] = (...args) => {
      if (steps-- === 0) process.kill(process.pid, "SIGKILL");
      return original(...args);
    };
  }
}
syncBuiltinESMExports();
const [{ id }] = await store.list();
await keep({ isTemporary: true });
const held = await keep({ isTemporary: true });
writeFileSync(root + "/new", Buffer.alloc(200_000, 1));
const own = await keep();
const reading = await store.open(own.id);
await store.remove(own.id);
await reading.close();
await store.remove(held.id);
await store.remove(id);
process.stdout.write("done");
process.exit(0);
`;
/** Goes on until it is killed. */
const BUSY = `
${SETUP}
for (let round = 0; ; round++) {
  process.stdout.write(".");
  writeFileSync(root + "/f" + (round % 5), "content " + (round * Number(number)) % 13);
  const { id } = await keep({ isTemporary: round % 5 === 0 });
  const reading = await store.open(id).catch(() => undefined);
  const all = await store.list();
  if (all.length > 3) await store.remove(all[round % all.length].id);
  await reading?.close();
}
`;

let programs: string;
const children: ChildProcess[] = [];

useSnapshotWorkspace();

beforeAll(async () => {
  programs = temporaryDirectory();
  const source = fileURLToPath(new URL("../../..", import.meta.url));
  writeFileSync(join(programs, "library.ts"), LIBRARY.replaceAll("SOURCE/", source));
  await build({
    entryPoints: [join(programs, "library.ts")],
    outfile: join(programs, "library.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
  });
  writeFileSync(join(programs, "once.mjs"), ONCE);
  writeFileSync(join(programs, "busy.mjs"), BUSY);
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function start(program: string, number: number, root = kept.root): ChildProcess {
  const child = spawn(process.execPath, [join(programs, program), kept.directory, root, String(number)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

describe("a process that is killed", () => {
  it("leaves whole snapshots and nothing else, at whatever step", { timeout: 240_000 }, async () => {
    const workspace = await kept.directly();
    writeFileSync(join(kept.root, "a"), "one");
    const mine = await keep(kept.store(), workspace, { name: "mine" });
    for (let step = 0; ; step++) {
      writeFileSync(join(kept.root, "b"), `content of step ${step}`);
      const theirs = await keep(kept.store(), workspace);
      const child = start("once.mjs", step);
      let said = "";
      child.stdout!.on("data", (chunk) => {
        said += chunk;
      });
      const [status, signal] = await once(child, "exit");
      const store = kept.store();
      await store.tidy();
      await assertSound(kept);
      await bringBack(store, workspace, mine.id);
      await store.remove(theirs.id);
      for (const { id } of await store.list()) if (id !== mine.id) await store.remove(id);
      if (said === "done") {
        expect(status).toBe(0);
        expect(step).toBeGreaterThan(30);
        break;
      }
      expect(signal).toBe("SIGKILL");
    }
  });

  it("does not get in the way of others that use the same session", async () => {
    const roots = [1, 2, 3].map((number) => join(kept.base, `workspace${number}`));
    for (const root of roots) mkdirSync(root);
    for (let round = 0; round < 12; round++) {
      const busy = roots.map((root, index) => start("busy.mjs", round * 3 + index + 1, root));
      // One after the other, each somewhere in its next piece of work, while those left go on.
      for (const [index, child] of busy.entries()) {
        const ended = once(child, "exit");
        for (let pieces = 0; pieces <= index + (round % 3); pieces++) await once(child.stdout!, "data");
        child.kill("SIGKILL");
        await ended;
      }
    }
    const store = kept.store();
    await store.tidy();
    await assertSound(kept);
    expect((await store.list()).length).toBeGreaterThan(0);
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../test/setup/clean-up.js";
import { requires } from "../../test/setup/requires.js";
import { isFromElsewhere, isOrphaned, isSharedOrphan, processLabel } from "./process-label.js";
import { waitUntil } from "./wait-until.js";

function startTime(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")[19]!;
}

describe("process labels", () => {
  it("tell a living maker from a dead one, and from another with the same pid", async () => {
    expect(isOrphaned(processLabel("x"))).toBe(false);
    expect(isOrphaned(`${process.pid}-1-x`)).toBe(true);
    expect(isOrphaned("not a label")).toBe(false);
    const child = spawn("sleep", ["60"]);
    const label = `${child.pid}-${startTime(child.pid!)}-x`;
    expect(isOrphaned(label)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isOrphaned(label)).toBe(true);
  });

  it("take a zombie for dead", async () => {
    // The shell becomes a program that never waits for its child.
    const parent = spawn("sh", ["-c", "sleep 0.2 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    const label = `${pid}-${startTime(pid)}-x`;
    expect(isOrphaned(label)).toBe(false);
    await waitUntil(() => isOrphaned(label));
    expect(readFileSync(`/proc/${pid}/stat`, "utf8")).toContain(") Z ");
    parent.kill("SIGKILL");
    await once(parent, "exit");
  });

  requires("root").it("leave a maker in another pid namespace alone, also once it is gone", async () => {
    const bundle = join(temporaryDirectory(), "label.mjs");
    await build({
      entryPoints: [fileURLToPath(new URL("process-label.ts", import.meta.url))],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: bundle,
    });
    const program = `import { processLabel } from ${JSON.stringify(bundle)};
      process.stdout.write(processLabel("x") + "\\n");
      process.stdin.resume();`;
    const child = spawn(
      "unshare",
      ["--pid", "--fork", "--mount-proc", process.execPath, "--input-type=module", "--eval", program],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    const label = String((await once(child.stdout, "data"))[0]).trim();
    const look = () => [isOrphaned(label), isFromElsewhere(label), isSharedOrphan(label, Date.now())];
    expect(look()).toEqual([false, true, false]);
    child.stdin.end();
    await once(child, "exit");
    expect(look()).toEqual([false, true, false]);
    expect(isSharedOrphan(label, Date.now() - 60_000)).toBe(true);
  });

  it("know that no maker outlives its boot, and read labels of earlier versions", () => {
    const own = processLabel("x");
    const [pid, startTime, place] = own.split("-");
    expect(isFromElsewhere(own)).toBe(false);
    expect(isOrphaned(`${pid}-${startTime}-${"0".repeat(8)}${place!.slice(8)}-x`)).toBe(true);
    const earlier = [`${pid}-${startTime}-0123456789abcdef`, `${pid}-1-0123456789abcdef`];
    expect(earlier.map(isOrphaned)).toEqual([false, true]);
    expect(earlier.map(isFromElsewhere)).toEqual([false, false]);
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../core/testing/wait-until.js";
import { isOrphaned, processLabel } from "./process-label.js";

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
});

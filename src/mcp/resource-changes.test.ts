import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ToolReply } from "../core/tools/index.js";
import { ResourceChanges } from "./resource-changes.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const reply = (data: ToolReply["data"]): ToolReply => ({ status: "success", summary: "", text: "", data });

function listen() {
  const told: string[] = [];
  const changes = new ResourceChanges({
    listChanged: () => void told.push("list"),
    updated: (uri) => void told.push(uri),
  });
  return { told, changes };
}

it("tells of a burst of changes once, and of single files only those that were asked for", () => {
  const { told, changes } = listen();
  changes.subscribe("workspace:///a%20b");
  changes.subscribe("workspace:///dir/deep/x");
  changes.subscribe("workspace:///dirt");
  changes.subscribe("workspace:///gone");
  changes.unsubscribe("workspace:///gone");
  for (let i = 0; i < 100; i++)
    changes.note(reply({ filesWritten: ["a b", `f${i}`], filesDeleted: ["gone"] }), false);
  changes.note(reply({ path: "dir" }), true);
  vi.advanceTimersByTime(500);
  expect(told).toEqual(["list", "workspace:///a%20b", "workspace:///dir/deep/x"]);
  vi.advanceTimersByTime(5000);
  expect(told).toHaveLength(3);
  changes.note(reply({ filesWritten: ["f"] }), false);
  vi.advanceTimersByTime(500);
  expect(told).toHaveLength(4);
});

it("tells nothing of a call that changed nothing, that failed early, or after the client is gone", () => {
  const { told, changes } = listen();
  changes.note(reply({ filesWritten: [], filesDeleted: [], path: "not a file tool's" }), false);
  changes.note(reply({ error: { code: "INVALID_ARGUMENT" } }), true);
  changes.note(reply({ filesWritten: "x", filesDeleted: [7] }), false);
  vi.advanceTimersByTime(5000);
  changes.note(reply({ filesWritten: ["f"] }), false);
  changes[Symbol.dispose]();
  vi.advanceTimersByTime(5000);
  expect(told).toEqual([]);
});

it("watches a bounded number of files, and none outside the workspace", () => {
  const { changes } = listen();
  for (let i = 0; i < 1000; i++) changes.subscribe(`workspace:///f${i}`);
  changes.subscribe("workspace:///f7");
  expect(() => changes.subscribe("workspace:///more")).toThrow(
    expect.objectContaining({ code: "SANDBOX_BUSY" }),
  );
  expect(() => changes.subscribe("file:///etc/passwd")).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});

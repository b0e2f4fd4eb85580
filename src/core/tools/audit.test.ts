import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { cleanUp, temporaryDirectory } from "../../../test/setup/clean-up.js";
import { openManager } from "../../../test/setup/open-manager.js";
import { requires } from "../../../test/setup/requires.js";
import { AuditLogger, queryAudit } from "../../guard/audit/index.js";
import type { SandboxManager } from "../manager/index.js";
import { createTools } from "./create-tools.js";

const { describe, it } = requires("linux", "bubblewrap");

let stateDir: string;
let audit: AuditLogger;
let manager: SandboxManager;

beforeAll(() => {
  stateDir = temporaryDirectory();
  audit = new AuditLogger({ directory: join(stateDir, "audit") });
  cleanUp(() => audit.close());
  manager = openManager({ stateDir, audit, backend: "bubblewrap" });
});

async function recordsOf(session: string, ...calls: [string, object][]) {
  const tools = createTools(manager, { sessionId: session });
  for (const [name, args] of calls) await tools.call(name, args);
  const records = [];
  for await (const record of queryAudit(join(stateDir, "audit"), { session })) records.push(record);
  return records;
}

describe("the record of a tool call", () => {
  it.each([
    ["file_read", { path: "../../etc/shadow" }, "file_read ../../etc/shadow", "PATH_TRAVERSAL"],
    ["file_read", { path: "/etc/shadow" }, "file_read /etc/shadow", "PATH_TRAVERSAL"],
    ["file_write", { path: "/etc/x", content: "a" }, "file_write /etc/x", "PATH_TRAVERSAL"],
    ["file_edit", { path: "../x", oldText: "a", newText: "b" }, "file_edit ../x", "PATH_TRAVERSAL"],
    ["file_list", { path: "/root" }, "file_list /root", "PATH_TRAVERSAL"],
    ["file_delete", { path: "." }, "file_delete .", "INVALID_ARGUMENT"],
    ["file_search", { path: "/etc", content: "root" }, "file_search /etc", "PATH_TRAVERSAL"],
    ["file_search", { content: "(", regex: true }, "file_search .", "INVALID_ARGUMENT"],
    [
      "run_tests",
      { language: "python", code: "x = 1", testsPath: "../../etc/shadow" },
      "file_read ../../etc/shadow",
      "PATH_TRAVERSAL",
    ],
    ["run_code", { language: "perl", code: "system('ls')" }, undefined, "LANGUAGE_UNKNOWN"],
  ])("is there exactly once for %s of %j, which is refused", async (tool, args, command, code) => {
    const session = `refused-${tool}-${JSON.stringify(args).length}`;
    const records = await recordsOf(session, [tool, args]);
    expect(records).toEqual([
      expect.objectContaining({
        result: "error",
        error: expect.stringMatching(`^${code}: `),
        ...(command !== undefined && { command }),
      }),
    ]);
  });

  it("says what was created, modified and deleted", async () => {
    const records = await recordsOf(
      "changes",
      ["file_write", { path: "d/a.txt", content: "x" }],
      ["file_write", { path: "d/b.txt", content: "x", createOnly: true }],
      ["file_edit", { path: "d/a.txt", oldText: "x", newText: "y" }],
      ["file_delete", { path: "d/a.txt" }],
      ["file_delete", { path: "d", recursive: true }],
    );
    expect(
      records.map(({ tool, files_written, files_deleted }) => [tool, files_written, files_deleted]),
    ).toEqual([
      ["file_write", ["d/a.txt"], []],
      ["file_write", ["d/b.txt"], []],
      ["file_edit", ["d/a.txt"], []],
      ["file_delete", [], ["d/a.txt"]],
      ["file_delete", [], ["d", "d/b.txt"]],
    ]);
  });

  it("says of a file that was written whether it was there", async () => {
    const write = (content: string) =>
      manager.useFiles({
        sessionId: "kinds",
        tool: "file_write",
        summary: "write",
        paths: [{ path: "a", access: "write" }],
        work: async ({ files, changed }) => {
          const isNew = !(await files.exists("a"));
          await files.write("a", content);
          changed("a", isNew ? "created" : "modified");
        },
      });
    expect((await write("1")).fileChanges).toEqual([{ path: "a", change: "created" }]);
    expect((await write("2")).fileChanges).toEqual([{ path: "a", change: "modified" }]);
  });
});

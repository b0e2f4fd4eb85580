import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";

const POLICY = `
policies:
  default: { denied_paths: [/workspace/secret/**] }
  tools:
    shell_exec: { risk_level: high, denied_commands: [curl] }
  agent_roles:
    reader: { tools: [file_read] }
    writer: { tools: [file_read, file_write] }
`;

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

describe("work with a session's sandbox", () => {
  it("has one record, which says who asked for what in which request", async () => {
    const manager = fixture.manager();
    const result = await manager.useSandbox({
      sessionId: "s",
      orgId: "acme",
      requestId: "req-1",
      tool: "run_code",
      summary: "list the contexts",
      paths: [],
      work: async (sandbox) => sandbox.listContexts().length,
    });
    expect(result).toMatchObject({ success: true, value: 0 });
    expect(await fixture.records()).toMatchObject([
      {
        session_id: "s",
        org_id: "acme",
        tool: "run_code",
        command: "list the contexts",
        result: "success",
        details: { request_id: "req-1" },
      },
    ]);
  });

  it("is not done where the policy denies its tool or its paths", async () => {
    const manager = fixture.manager({ policy: POLICY });
    let times = 0;
    const work = async () => ++times;
    const call = { sessionId: "s", summary: "something", work };
    const byTool = await manager.useSandbox({ ...call, role: "reader", tool: "file_write", paths: [] });
    const byPath = await manager.useSandbox({
      ...call,
      role: "writer",
      tool: "file_write",
      paths: [{ path: "secret/a", access: "write" }],
    });
    expect([byTool.reason, byPath.reason, times]).toEqual(["denied", "denied", 0]);
    expect("value" in byTool).toBe(false);
  });
});

describe("work with all of a session's files", () => {
  it("is denied where the policy keeps some of them back, and done where it does not", async () => {
    const call = {
      sessionId: "s",
      role: "writer",
      tool: "file_read",
      summary: "take all",
      touchesAllFiles: true,
    };
    const paths = [{ path: ".", access: "read" }] as const;
    const work = async () => "done";
    const strict = fixture.manager({ policy: POLICY });
    await expect(strict.useSandbox({ ...call, paths, work })).rejects.toMatchObject({
      code: "POLICY_DENIED",
    });
    await strict.close();
    const open = fixture.manager();
    expect(await open.useSandbox({ ...call, paths, work })).toMatchObject({ value: "done" });
    expect((await fixture.records()).map(({ result }) => result)).toEqual(["denied", "success"]);
  });
});

describe("a file that is placed from a stream", () => {
  it("is written before the work, decided about by what is in it, and hashed into the record", async () => {
    const manager = fixture.manager({ policy: POLICY });
    const place = (path: string, text: string) =>
      manager.useFiles({
        sessionId: "s",
        role: "writer",
        tool: "file_write",
        summary: `write ${path}`,
        paths: [{ path, access: "write" }],
        content: { [path]: Readable.from([text]) },
        isPlaced: true,
        work: ({ files }) => files.readText(path),
      });
    expect(await place("a.txt", "hello")).toMatchObject({ success: true, value: "hello" });
    expect(await place("secret/b.txt", "hello")).toMatchObject({ reason: "denied" });
    expect((await fixture.records())[0]?.details?.["files"]).toMatch(/^1 files, sha256:/);
  });
});

import type { ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { type Person, printedIn, startMcp, textOf } from "./mcp-client.js";
import { CURL, lastRecord, TOUCH, usePolicies, user, write } from "./policy-user.js";

const real = requires("linux", "bubblewrap", "python3");
usePolicies();

const POLICY = ["--policy", "policy.yaml", "--role", "coder"];
const touch = (name: string) => ({ command: `touch ${name} && echo touched` });
const choose = (decision: string, more: Record<string, string> = {}): ElicitResult => ({
  action: "accept",
  content: { decision, ...more },
});

/** A person who answers so, and what they were asked. */
function personWho(answer: Person): { readonly person: Person; readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    person: (question, signal) => {
      asked.push(question.message);
      return answer(question, signal);
    },
  };
}

real.describe("skerry mcp with a policy", () => {
  it("denies what the policy denies, without asking", async () => {
    const { person, asked } = personWho(() => choose("approve once"));
    const { call } = await startMcp(user, POLICY, person);
    const denied = await call("shell_exec", { command: "curl http://example.com/" });
    expect(denied).toMatchObject({ isError: true, _meta: { "skerry/outcome": { status: "denied" } } });
    expect(textOf(denied)).toMatch(/^Denied: /);
    expect(textOf(denied)).toContain(CURL);
    expect(textOf(await call("run_code", { language: "javascript", code: "1" }))).toMatch(/^Denied: /);
    expect(textOf(await call("file_write", { path: "a", content: "b" }))).toMatch(/^Denied: /);
    expect(asked).toEqual([]);
    expect(printedIn(await call("shell_exec", { command: "echo allowed" }))).toBe("allowed");
  });

  it("asks the person at the client, who sees the code, the rule and the limits, and approves once", async () => {
    const { person, asked } = personWho(() => choose("approve once"));
    const { call } = await startMcp(user, POLICY, person);
    expect(printedIn(await call("shell_exec", touch("a")))).toBe("touched");
    expect(asked).toHaveLength(1);
    for (const shown of ["1 │ touch a && echo touched", TOUCH.split(" ")[0]!, "20 s", "role coder"]) {
      expect(asked[0]).toContain(shown);
    }
    expect(lastRecord()).toMatchObject({
      result: "success",
      confirmation: "approved",
      decided_by: "mcp: test-client",
    });
    expect(printedIn(await call("shell_exec", touch("a")))).toBe("touched");
    expect(asked).toHaveLength(2);
  });

  it("remembers what was approved for the session, and asks about anything else", async () => {
    const { person, asked } = personWho(() => choose("approve for this session"));
    const { call } = await startMcp(user, POLICY, person);
    for (let i = 0; i < 3; i++) expect(printedIn(await call("shell_exec", touch("a")))).toBe("touched");
    expect(asked).toHaveLength(1);
    await call("shell_exec", touch("b"));
    expect(asked).toHaveLength(2);
  });

  it("runs nothing that the person rejects, and tells the agent why", async () => {
    const { person } = personWho(() => choose("reject", { reason: "not in my house" }));
    const { call } = await startMcp(user, POLICY, person);
    const rejected = await call("shell_exec", touch("no"));
    expect(rejected).toMatchObject({ isError: true, _meta: { "skerry/outcome": { status: "rejected" } } });
    expect(textOf(rejected)).toContain("not in my house");
    expect(lastRecord()).toMatchObject({ result: "rejected" });
    expect(printedIn(await call("shell_exec", { command: "ls no || echo nothing" }))).toContain("nothing");
  });

  it("rejects what is not answered in time, and takes the question away", async () => {
    write("hasty.yaml", "sandbox:\n  confirmation:\n    timeout: 4s\n");
    let takenAway = 0;
    const { person } = personWho(
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            takenAway++;
            resolve({ action: "cancel" });
          });
        }),
    );
    const { call } = await startMcp(user, [...POLICY, "--config", "hasty.yaml"], person);
    const late = await call("shell_exec", touch("late"));
    expect(late).toMatchObject({ isError: true, _meta: { "skerry/outcome": { status: "rejected" } } });
    expect(textOf(late)).toMatch(/No answer within 4 s/);
    await waitUntil(() => takenAway === 1);
  });

  it("takes the question away when the call is cancelled, and asks the next", async () => {
    let takenAway = 0;
    const answers: Person[] = [
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            takenAway++;
            resolve({ action: "cancel" });
          });
        }),
      () => choose("approve once"),
    ];
    const { person, asked } = personWho((question, signal) => answers.shift()!(question, signal));
    const { client, call } = await startMcp(user, POLICY, person);
    const controller = new AbortController();
    const cancelled = client.callTool({ name: "shell_exec", arguments: touch("c") }, undefined, {
      signal: controller.signal,
    });
    cancelled.catch(() => undefined);
    await waitUntil(() => asked.length === 1);
    controller.abort();
    await waitUntil(() => takenAway === 1);
    expect(printedIn(await call("shell_exec", touch("d")))).toBe("touched");
  });

  it("tells the agent of a client that cannot ask what to do", async () => {
    const { call } = await startMcp(user, POLICY);
    const refused = await call("shell_exec", touch("x"));
    expect(refused).toMatchObject({ isError: true, _meta: { "skerry/outcome": { status: "rejected" } } });
    expect(textOf(refused)).toMatch(/^Rejected: .*this MCP client cannot ask.*allow it in the policy/);
  });

  it("takes the same options about approvals as other commands", async () => {
    const { person, asked } = personWho(() => choose("approve once"));
    const rejecting = await startMcp(user, [...POLICY, "--confirm", "reject"], person);
    expect(textOf(await rejecting.call("shell_exec", touch("x")))).toContain("--confirm reject was given");
    const approving = await startMcp(user, [...POLICY, "--dangerously-approve-all"], person);
    expect(printedIn(await approving.call("shell_exec", touch("x")))).toBe("touched");
    expect(asked).toEqual([]);
    expect(user.skerry(["mcp", "--role", "coder"])).toMatchObject({
      status: 64,
      stdout: "",
      stderr: expect.stringContaining("--role needs a policy"),
    });
    expect(user.skerry(["mcp", "--policy", "bad.yaml"])).toMatchObject({ status: 78, stdout: "" });
    expect(user.skerry(["mcp", "--env", "A=b"])).toMatchObject({ status: 64, stdout: "" });
  });
});

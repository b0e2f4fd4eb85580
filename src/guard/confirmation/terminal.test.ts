import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import type { ConfirmationRequest } from "./request.js";
import { TerminalConfirmationService } from "./terminal.js";

const REQUEST: ConfirmationRequest = {
  id: "1",
  sessionId: "s",
  agentId: "a",
  orgId: "o",
  role: "r",
  tool: "shell_exec",
  code: "rm -r x",
  riskLevel: "high",
  findings: [],
  limits: {},
  createdAt: new Date(),
  expiresAt: new Date(Date.now() + 60_000),
};

function createService() {
  const input = new PassThrough();
  const output = new PassThrough();
  const seen = text(output.pipe(new PassThrough()));
  const service = new TerminalConfirmationService({ streams: { input, output }, env: {} });
  const confirm = (signal = new AbortController().signal) => service.confirm(REQUEST, { signal });
  return { input, output, seen, confirm };
}

it("asks on given streams, without colours where they are no terminal", async () => {
  const { input, output, seen, confirm } = createService();
  input.end("what?\nno\ntoo broad\n");
  expect(await confirm()).toMatchObject({ decision: "reject", reason: "too broad" });
  output.end();
  expect(await seen).toContain("  1 │ rm -r x\n");
  expect(await seen).not.toContain("\x1b");
});

it("rejects when the input ends", async () => {
  const { input, confirm } = createService();
  input.end();
  expect(await confirm()).toMatchObject({
    decision: "reject",
    reason: "The question was not answered",
  });
});

it("rejects when a stream fails, and from then on", async () => {
  const { input, output, confirm } = createService();
  output.on("data", (data) => {
    if (String(data).includes("Run it?")) input.destroy(new Error("hung up"));
  });
  expect(await confirm()).toMatchObject({ decision: "reject" });
  expect(await confirm()).toMatchObject({ decision: "reject" });
});

it("asks one question at a time, however many come at once", async () => {
  const { input, output, seen, confirm } = createService();
  const first = confirm();
  const second = confirm();
  input.write("y\n");
  expect(await first).toMatchObject({ decision: "approve", scope: "once" });
  input.write("s\n");
  expect(await second).toMatchObject({ decision: "approve", scope: "session" });
  output.end();
  expect((await seen).match(/Run it\?|An agent wants/g)).toEqual([
    "An agent wants",
    "Run it?",
    "An agent wants",
    "Run it?",
  ]);
});

it("shows nothing of a request that is cancelled before its turn, and goes on with the next", async () => {
  const { input, output, seen, confirm } = createService();
  const controller = new AbortController();
  const answers = [confirm(), confirm(controller.signal), confirm()];
  controller.abort(new Error("cancelled"));
  input.write("y\n");
  expect(await answers[0]).toMatchObject({ decision: "approve" });
  await expect(answers[1]).rejects.toThrow("cancelled");
  input.write("n\n\n");
  expect(await answers[2]).toMatchObject({ decision: "reject" });
  output.end();
  expect((await seen).match(/An agent wants/g)?.length).toBe(2);
});

it("stops in the middle of a text that is too long to wait for", async () => {
  const output = new PassThrough();
  const controller = new AbortController();
  const service = new TerminalConfirmationService({ streams: { input: new PassThrough(), output }, env: {} });
  const request = { ...REQUEST, code: "x\n".repeat(1_000_000) };
  const answer = service.confirm(request, { signal: controller.signal });
  output.once("data", () => controller.abort(new Error("timed out")));
  await expect(answer).rejects.toThrow("timed out");
});

it("does not wait for a terminal that is not read, once no answer is wanted", async () => {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const service = new TerminalConfirmationService({ streams, env: {} });
  const controller = new AbortController();
  const answer = service.confirm({ ...REQUEST, code: "x\n".repeat(100_000) }, { signal: controller.signal });
  streams.output.once("readable", () => controller.abort(new Error("timed out")));
  await expect(answer).rejects.toThrow("timed out");
});

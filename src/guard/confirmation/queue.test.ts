import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import {
  AutoApproveConfirmationService,
  AutoRejectConfirmationService,
  CallbackConfirmationService,
  type ConfirmationAnswer,
  type ConfirmationDetails,
  ConfirmationQueue,
  type ConfirmationQueueOptions,
  type ConfirmationRequest,
  type PendingEvent,
  RemoteConfirmationService,
} from "./index.js";

const DETAILS: ConfirmationDetails = {
  sessionId: "s1",
  agentId: "a",
  orgId: "o",
  role: "code_assistant",
  tool: "run_code",
  language: "python",
  code: "print(1)",
  riskLevel: "high",
  findings: [finding("net"), finding("fs")],
  rule: { path: "tools.run_code", source: "policy.yaml", line: 3, why: "asks" },
  limits: { memoryMb: 512 },
  backend: "bubblewrap",
};

function finding(rule: string) {
  return { rule, level: "high", line: 1, column: 1, excerpt: "x", why: "y" } as const;
}

/** A service that the test answers for, and a record of what it was asked. */
function createQueue(options: Omit<ConfirmationQueueOptions, "service"> = {}) {
  const asked: { request: ConfirmationRequest; signal: AbortSignal; answer(value: unknown): void }[] = [];
  const service = new CallbackConfirmationService(
    (request, { signal }) =>
      new Promise((resolve) => {
        asked.push({ request, signal, answer: (value) => resolve(value as ConfirmationAnswer) });
      }),
  );
  const queue = new ConfirmationQueue({ service, ...options });
  const codes = () => asked.map(({ request }) => request.code);
  return { queue, asked, codes };
}

const ask = (queue: ConfirmationQueue, details: Partial<ConfirmationDetails> = {}, signal?: AbortSignal) =>
  queue.request({ ...DETAILS, ...details }, { signal });

/** Lets promises that are settled have their effects. */
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("an answer", () => {
  it("that approves lets the code run as it was shown", async () => {
    const { queue, asked } = createQueue();
    const details = { ...DETAILS, findings: [finding("net")], limits: { memoryMb: 1 } };
    const outcome = queue.request(details);
    await settle();
    expect(asked[0]?.request).toEqual({
      ...details,
      id: expect.any(String),
      createdAt: new Date(),
      expiresAt: new Date(Date.now() + 60_000),
    });
    // What the caller does to its object afterwards changes nothing.
    Object.assign(details, { code: "evil()" });
    Object.assign(details.limits, { memoryMb: 2 });
    expect(asked[0]?.request).toMatchObject({ code: "print(1)", limits: { memoryMb: 1 } });
    expect(() => Object.assign(asked[0]?.request ?? {}, { code: "evil()" })).toThrow(TypeError);
    asked[0]?.answer({ decision: "approve", scope: "once", by: "ada" });
    expect(await outcome).toEqual({
      approved: true,
      code: "print(1)",
      scope: "once",
      by: "ada",
      edited: false,
      remembered: false,
    });
  });

  it.each([
    ["that edits gives the new code", "print(2)", true],
    ["that edits nothing is an approval", "print(1)", false],
  ])("%s", async (_, code, edited) => {
    const service = new CallbackConfirmationService(() => ({ decision: "edit", code }));
    expect(await ask(new ConfirmationQueue({ service }))).toEqual({
      approved: true,
      code,
      scope: "once",
      by: undefined,
      edited,
      remembered: false,
    });
  });

  it("that rejects gives its reason", async () => {
    const reject = (reason?: string) => {
      const answer = { decision: "reject" as const, by: "ada", ...(reason !== undefined && { reason }) };
      return ask(new ConfirmationQueue({ service: new CallbackConfirmationService(() => answer) }));
    };
    expect(await reject("too broad")).toEqual({
      approved: false,
      reason: "too broad",
      cause: "rejected",
      by: "ada",
    });
    expect(await reject(" ")).toMatchObject({ reason: "The request was rejected without a reason" });
  });

  it.each([
    ["nothing", undefined],
    ["true", true],
    ["another word", { decision: "ok" }],
    ["an approval without a scope", { decision: "approve" }],
  ])("that is %s is a failure", async (_, answer) => {
    const service = new CallbackConfirmationService(() => answer as unknown as ConfirmationAnswer);
    expect(await ask(new ConfirmationQueue({ service }))).toEqual({
      approved: false,
      cause: "failed",
      reason: "The confirmation service callback gave an invalid answer",
    });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("secret of the host");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret of the host"))],
  ])(
    "that is missing because the service %s is a failure, told without what was thrown",
    async (_, callback) => {
      const outcome = await ask(
        new ConfirmationQueue({ service: new CallbackConfirmationService(callback) }),
      );
      expect(outcome).toEqual({
        approved: false,
        cause: "failed",
        reason: "The confirmation service callback failed",
        error: new Error("secret of the host"),
      });
    },
  );

  it("of a service that throws without a promise is a failure as well", async () => {
    const service = {
      name: "rude",
      confirm(): never {
        throw new Error("no");
      },
    };
    expect(await ask(new ConfirmationQueue({ service }))).toMatchObject({ approved: false, cause: "failed" });
  });

  it("of a service that cancels is not a rejection", async () => {
    const queue = new ConfirmationQueue({
      service: new CallbackConfirmationService(() => {
        throw new SandboxError("CANCELLED", "enough");
      }),
    });
    expect(await ask(queue)).toEqual({ approved: false, cause: "cancelled", reason: "enough" });
  });

  it("is yes or no without a person where that is configured", async () => {
    const approve = new ConfirmationQueue({ service: new AutoApproveConfirmationService() });
    expect(await ask(approve)).toMatchObject({ approved: true, scope: "once", by: "auto-approve" });
    const reject = new ConfirmationQueue({ service: new AutoRejectConfirmationService("not here") });
    expect(await ask(reject)).toEqual({
      approved: false,
      reason: "not here",
      cause: "rejected",
      by: "auto-reject",
    });
  });

  it("is no where there is no service", async () => {
    expect(await ask(new ConfirmationQueue())).toEqual({
      approved: false,
      cause: "no-service",
      reason:
        "This needs a confirmation, and no confirmation service is set up: give the manager one as confirmation (docs/tools.md)",
    });
  });
});

describe("time", () => {
  it("runs out after a minute: rejected, and the service is told", async () => {
    const { queue, asked } = createQueue();
    const outcome = ask(queue);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(asked[0]?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toEqual({
      approved: false,
      cause: "timeout",
      reason: "No answer within 60 s",
    });
    expect(asked[0]?.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("counts from when it is shown, not while others are", async () => {
    const { queue, asked } = createQueue({ timeoutMs: 1000 });
    const outcomes = [ask(queue, { code: "1" }), ask(queue, { code: "2" })];
    await vi.advanceTimersByTimeAsync(1000);
    expect(await outcomes[0]).toMatchObject({ cause: "timeout" });
    await vi.advanceTimersByTimeAsync(999);
    asked[1]?.answer({ decision: "approve", scope: "once" });
    expect(await outcomes[1]).toMatchObject({ approved: true, code: "2" });
  });

  it("is not endless in the queue", async () => {
    const { queue, codes, asked } = createQueue({ timeoutMs: 1000, maxWaitMs: 1500 });
    const outcomes = ["1", "2", "3"].map((code) => ask(queue, { code }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(codes()).toEqual(["1", "2"]);
    expect(asked[1]?.request.expiresAt.getTime()).toBe(Date.now() + 500);
    await vi.advanceTimersByTimeAsync(500);
    expect(await Promise.all(outcomes)).toMatchObject(
      ["timeout", "timeout", "timeout"].map((cause) => ({ cause })),
    );
    expect(codes()).toEqual(["1", "2"]);
    expect(queue.list()).toEqual([]);
  });

  it("that is up makes a late answer count for nothing, and the next one have its turn", async () => {
    const { queue, asked, codes } = createQueue({ timeoutMs: 1000 });
    const late = ask(queue, { code: "1" });
    const next = ask(queue, { code: "1", findings: [] });
    await vi.advanceTimersByTimeAsync(1000);
    // The service ignored the signal and answers for the session after all.
    asked[0]?.answer({ decision: "approve", scope: "session" });
    await settle();
    expect(await late).toMatchObject({ cause: "timeout" });
    expect(codes()).toEqual(["1", "1"]);
    asked[1]?.answer({ decision: "reject" });
    expect(await next).toMatchObject({ cause: "rejected" });
    void ask(queue);
    await settle();
    expect(asked.length).toBe(3);
    queue.close();
  });

  it("stands still while a person works on the answer, and starts again afterwards", async () => {
    const clocks: (() => () => Date)[] = [];
    const service = new CallbackConfirmationService((_, { stopClock }) => {
      clocks.push(stopClock!);
      return new Promise(() => undefined);
    });
    const queue = new ConfirmationQueue({ service, timeoutMs: 1000 });
    const outcome = ask(queue);
    await vi.advanceTimersByTimeAsync(900);
    const startClock = clocks[0]!();
    expect(queue.list()[0]?.request.expiresAt).toEqual(new Date(Date.now() + 9100));
    await vi.advanceTimersByTimeAsync(5000);
    expect(startClock()).toEqual(new Date(Date.now() + 1000));
    expect(queue.list()[0]?.request.expiresAt).toEqual(new Date(Date.now() + 1000));
    await vi.advanceTimersByTimeAsync(999);
    expect(queue.list()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ cause: "timeout", reason: "No answer within 1 s" });
    // A service that is late changes nothing.
    const expired = startClock();
    expect(expired.getTime()).toBeLessThanOrEqual(Date.now());
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never stands still for longer than a request may wait", async () => {
    const service = new CallbackConfirmationService((_, { stopClock }) => {
      stopClock!();
      return new Promise(() => undefined);
    });
    const queue = new ConfirmationQueue({ service, timeoutMs: 1000, maxWaitMs: 1500 });
    const outcome = ask(queue);
    await vi.advanceTimersByTimeAsync(1500);
    expect(await outcome).toMatchObject({ cause: "timeout" });
  });

  it("must be a number that can be waited for", () => {
    for (const options of [
      { timeoutMs: 0 },
      { timeoutMs: 2 ** 31 },
      { concurrency: 0 },
      { maxWaitMs: Number.NaN },
    ]) {
      expect(() => new ConfirmationQueue(options)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
  });
});

describe("many at once", () => {
  it("are asked one after the other, in their order", async () => {
    const { queue, asked, codes } = createQueue();
    const outcomes = ["1", "2", "3"].map((code) => ask(queue, { code }));
    await settle();
    expect(codes()).toEqual(["1"]);
    expect(queue.list().map(({ request, state }) => [request.code, state])).toEqual([
      ["1", "shown"],
      ["2", "waiting"],
      ["3", "waiting"],
    ]);
    for (const index of [0, 1, 2]) {
      asked[index]?.answer({ decision: "approve", scope: "once" });
      await settle();
    }
    expect(codes()).toEqual(["1", "2", "3"]);
    expect((await Promise.all(outcomes)).every(({ approved }) => approved)).toBe(true);
  });

  it("are asked together as far as the service can", async () => {
    const { queue, codes } = createQueue({ concurrency: 2 });
    for (const code of ["1", "2", "3"]) void ask(queue, { code });
    await settle();
    expect(codes()).toEqual(["1", "2"]);
    queue.close();
  });

  it("can each be cancelled, also while they wait", async () => {
    const { queue, asked, codes } = createQueue();
    const controllers = [new AbortController(), new AbortController(), new AbortController()];
    const outcomes = controllers.map(({ signal }, index) => ask(queue, { code: String(index) }, signal));
    controllers[1]?.abort();
    expect(await outcomes[1]).toEqual({
      approved: false,
      cause: "cancelled",
      reason: "The request was cancelled",
    });
    controllers[0]?.abort();
    expect(await outcomes[0]).toMatchObject({ cause: "cancelled" });
    expect(asked[0]?.signal.aborted).toBe(true);
    await settle();
    expect(codes()).toEqual(["0", "2"]);
    asked[1]?.answer({ decision: "approve", scope: "once" });
    expect(await outcomes[2]).toMatchObject({ approved: true, code: "2" });
    controllers[2]?.abort();
    expect(await ask(queue, {}, AbortSignal.abort())).toMatchObject({ cause: "cancelled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are no more than the queue takes", async () => {
    const { queue } = createQueue({ maxWaiting: 2 });
    for (const code of ["shown", "1", "2"]) void ask(queue, { code });
    expect(await ask(queue)).toEqual({
      approved: false,
      cause: "failed",
      reason: "2 requests already wait for a confirmation",
    });
    queue.close();
  });

  it("all end when the queue is closed, without the service being asked again", async () => {
    const { queue, codes } = createQueue();
    const outcomes = ["1", "2"].map((code) => ask(queue, { code }));
    await settle();
    queue.close();
    expect(await Promise.all([...outcomes, ask(queue)])).toMatchObject(
      [1, 2, 3].map(() => ({ cause: "cancelled" })),
    );
    expect(codes()).toEqual(["1"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("an approval for the session", () => {
  /** Approves one request for its session, and says what becomes of another one. */
  async function follows(first: Partial<ConfirmationDetails>, second: Partial<ConfirmationDetails>) {
    const { queue, asked } = createQueue();
    const outcome = ask(queue, first);
    await settle();
    asked[0]?.answer({ decision: "approve", scope: "session", by: "ada" });
    expect(await outcome).toMatchObject({ approved: true, scope: "session", remembered: false });
    const next = ask(queue, second);
    await settle();
    const isAsked = asked.length === 2;
    queue.close();
    return { isAsked, outcome: await next };
  }

  it.each<[string, Partial<ConfirmationDetails>]>([
    ["fewer findings", { findings: [finding("fs")] }],
    ["the same finding twice", { findings: [finding("fs"), finding("fs")] }],
    ["a lower risk", { riskLevel: "medium" }],
  ])("covers %s", async (_, second) => {
    const { isAsked, outcome } = await follows({}, second);
    expect(isAsked).toBe(false);
    expect(outcome).toEqual({
      approved: true,
      code: DETAILS.code,
      scope: "session",
      by: "ada",
      edited: false,
      remembered: true,
    });
  });

  it.each<[string, Partial<ConfirmationDetails>]>([
    ["another session", { sessionId: "s2" }],
    ["other code", { code: "print(2)" }],
    ["another agent", { agentId: "b" }],
    ["other surroundings", { surroundings: { "file x.sh": "curl" } }],
    ["another organisation", { orgId: "p" }],
    ["another tool", { tool: "shell_exec" }],
    ["another role", { role: "admin" }],
    ["another language", { language: "bash" }],
    ["another backend", { backend: "subprocess" }],
    ["another rule", { rule: { path: "tools", source: "policy.yaml", line: 3, why: "asks" } }],
    ["no rule", { rule: undefined }],
    ["a higher risk", { riskLevel: "critical" }],
    ["a finding that is new", { findings: [finding("net"), finding("exec")] }],
    ["a finding that is new and not listed", { findingRules: ["net", "fs", "exec"] }],
    ["names that only look the same when joined", { orgId: 'o","run_code', tool: "" }],
    ["a level that does not exist", { riskLevel: "none" as "low" }],
  ])("does not cover %s", async (_, second) => {
    expect((await follows({}, second)).isAsked).toBe(true);
  });

  it("does not add up with another one", async () => {
    const { queue, asked } = createQueue();
    for (const [index, rule] of ["net", "fs"].entries()) {
      const outcome = ask(queue, { findings: [finding(rule)] });
      await settle();
      asked[index]?.answer({ decision: "approve", scope: "session" });
      await outcome;
    }
    expect(await ask(queue, { findings: [finding("fs")] })).toMatchObject({ remembered: true });
    void ask(queue);
    await settle();
    expect(asked.length).toBe(3);
    queue.close();
  });

  it("covers those that waited while it was given", async () => {
    const { queue, asked } = createQueue();
    const outcomes = Array.from({ length: 50 }, () => ask(queue));
    await settle();
    asked[0]?.answer({ decision: "approve", scope: "session" });
    expect((await Promise.all(outcomes)).map((outcome) => outcome.approved && outcome.remembered)).toEqual([
      false,
      ...Array.from({ length: 49 }, () => true),
    ]);
    expect(asked.length).toBe(1);
  });

  it("is forgotten with the session, also when it is given afterwards", async () => {
    const { queue, asked } = createQueue();
    const during = ask(queue);
    await settle();
    queue.forgetSession("s1");
    asked[0]?.answer({ decision: "approve", scope: "session" });
    expect(await during).toMatchObject({ approved: true });
    const after = ask(queue);
    await settle();
    asked[1]?.answer({ decision: "approve", scope: "session" });
    expect(await after).toMatchObject({ remembered: false });
    expect(await ask(queue)).toMatchObject({ remembered: true });
    queue.forgetSession("s1");
    void ask(queue);
    await settle();
    expect(asked.length).toBe(3);
    queue.close();
  });
});

describe("from elsewhere", () => {
  it("the first decision counts, and later ones are told what it was", async () => {
    const queue = new ConfirmationQueue({ service: new RemoteConfirmationService(), concurrency: 10 });
    const outcome = ask(queue);
    const [{ request } = { request: { id: "" } }] = queue.list();
    expect(queue.decide(request.id, { decision: "approve", scope: "once", by: "ada" })).toEqual({
      accepted: true,
    });
    expect(queue.decide(request.id, { decision: "reject", by: "bob" })).toEqual({
      accepted: false,
      reason: "settled",
      settled: { approved: true, by: "ada", cause: undefined },
    });
    expect(queue.decide("unknown", { decision: "reject" })).toEqual({ accepted: false, reason: "unknown" });
    expect(await outcome).toMatchObject({ approved: true, by: "ada" });
  });

  it("an answer that is none leaves the request as it is", async () => {
    const queue = new ConfirmationQueue({ service: new RemoteConfirmationService() });
    const outcome = ask(queue);
    const id = queue.list()[0]?.request.id ?? "";
    expect(queue.decide(id, { decision: "approve" } as ConfirmationAnswer)).toEqual({
      accepted: false,
      reason: "invalid",
    });
    expect(queue.list().length).toBe(1);
    queue.decide(id, { decision: "reject", reason: "no" });
    expect(await outcome).toMatchObject({ cause: "rejected", reason: "no" });
  });

  it("what still waits can be decided, and what is shown is taken away from the service", async () => {
    const { queue, asked, codes } = createQueue();
    const outcomes = ["1", "2"].map((code) => ask(queue, { code }));
    await settle();
    for (const { request } of [...queue.list()].reverse()) {
      queue.decide(request.id, { decision: "edit", code: `${request.code}!` });
    }
    expect(await Promise.all(outcomes)).toMatchObject([
      { code: "1!", edited: true },
      { code: "2!", edited: true },
    ]);
    expect(codes()).toEqual(["1"]);
    expect(asked[0]?.signal.aborted).toBe(true);
  });

  it("no decision is a timeout", async () => {
    const queue = new ConfirmationQueue({ service: new RemoteConfirmationService() });
    const outcome = ask(queue);
    const id = queue.list()[0]?.request.id ?? "";
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await outcome).toMatchObject({ cause: "timeout" });
    expect(queue.decide(id, { decision: "approve", scope: "once" })).toEqual({
      accepted: false,
      reason: "settled",
      settled: { approved: false, by: undefined, cause: "timeout" },
    });
  });

  it("listeners hear of every change, and cannot disturb it", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      const { queue, asked } = createQueue();
      const events: PendingEvent[] = [];
      queue.subscribe(() => {
        throw new Error("broken");
      });
      const stop = queue.subscribe((event) => events.push(event));
      const outcome = ask(queue);
      await settle();
      asked[0]?.answer({ decision: "approve", scope: "once" });
      await outcome;
      stop();
      void ask(queue);
      expect(events.map((event) => ("pending" in event ? event.pending.state : event.settled))).toEqual([
        "waiting",
        "shown",
        { approved: true, by: undefined, cause: undefined },
      ]);
      expect(warn).toHaveBeenCalled();
      queue.close();
    } finally {
      warn.mockRestore();
    }
  });

  it("a watcher that decides at once spares the service the question", async () => {
    const { queue, asked } = createQueue();
    queue.subscribe((event) => {
      if (event.type === "shown") queue.decide(event.pending.request.id, { decision: "reject" });
    });
    expect(await ask(queue)).toMatchObject({ cause: "rejected" });
    expect(asked).toEqual([]);
  });
});

import { Writable } from "node:stream";
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { toPublicError } from "./error-reply.js";
import { describeError, logOptions, maskQuoted } from "./log.js";

const SECRET = "hunter2-of-a-caller";
/** An escape, a new line, an override of direction, a C1 control and a line separator. */
const HOSTILE = `${SECRET}\u001b[2J\r\n\u202e\u009b31m\u2028`;

/** A log, and everything that was written to it. */
function openLog() {
  let text = "";
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const { log } = fastify({ logger: logOptions("trace", stream) as object });
  return { log, lines: () => text.trimEnd().split("\n"), text: () => text };
}

describe("an error in the log", () => {
  it.each<[string, Error]>([
    ["a library's own words", new Error(`cannot parse ${HOSTILE}`)],
    ["a parser that quotes", grab(() => JSON.parse(`{"code": "${SECRET}"`))],
    ["an argument of Node's", grab(() => process.chdir(`/tmp/${SECRET}\0`))],
    ["a file that is not there", grab(() => process.chdir(`/tmp/${SECRET}`))],
    ["a property with a caller's name", grab(() => (undefined as unknown as Record<string, 1>)[SECRET])],
    ["a command that cannot start", new SandboxError("EXECUTION_FAILED", `Cannot start ${SECRET}`)],
    ["a file by its name", new SandboxError("FILE_FAILED", `${SECRET}: EIO`)],
    ["a name in quotes", new SandboxError("STORE_FAILED", `There is "a \\"${SECRET}" in it`)],
    ["a name in quotes that do not end", new SandboxError("STORE_FAILED", `There is "a ${SECRET}`)],
    ["what was only given a code", toSandboxError(new Error(SECRET), "SANDBOX_START_FAILED")],
    [
      "words of what broke inside ours",
      new SandboxError("BACKEND_UNAVAILABLE", `No: ${SECRET}`, { cause: new Error(SECRET) }),
    ],
    ["a stack in a message", new Error(`x\n    at ${SECRET} (file:///x.js:1:1)`)],
    ["a message that was changed", Object.assign(new Error(`\n    at ${SECRET} (a:1:1)`), { message: "x" })],
    ["a name", Object.assign(new Error("x"), { name: SECRET, code: `E ${SECRET}`, syscall: HOSTILE })],
    ["causes of causes", new Error("a", { cause: new Error("b", { cause: SECRET }) })],
  ])("has nothing of a caller's: %s", (_, error) => {
    const { log, text } = openLog();
    log.error({ err: error }, "failed");
    log.error({ error }, "failed");
    log.error({ err: error });
    log.error(error);
    log.warn({ deep: { here: [error] } }, "failed");
    log.error({ error: { nothing: error } as unknown as Error }, "failed");
    expect(text()).not.toContain("hunter2");
  });

  it("has its name, its code, its place in our source, and our own words", () => {
    const cause = Object.assign(new Error("ENOSPC: no space, write '/srv/x'"), {
      code: "ENOSPC",
      syscall: "write",
    });
    const [ours, theirs] = describeError(
      new SandboxError("AUDIT_FAILED", 'The log "x" is full', { hint: "…", cause }),
    );
    expect(ours).toMatch(
      /^SandboxError AUDIT_FAILED: The log “…” is full\n {4}at .*src\/server\/http\/log\.test\.ts:\d+:\d+/,
    );
    expect(theirs).toMatch(/^Error ENOSPC write\n {4}at /);
    expect(describeError(grab(() => (undefined as unknown as () => void)()))[0]).toMatch(
      /^TypeError: \(?(?:intermediate value|void 0|undefined)\)? is not a function\n/,
    );
    expect(describeError("x".repeat(9))).toEqual(["thrown value (string)"]);
    let endless: Error = new Error("0");
    for (let count = 0; count < 50; count++) endless = new Error("x", { cause: endless });
    expect(describeError(endless)).toHaveLength(5);
  });
});

describe("a line of the log", () => {
  it("is one line of printable text, whatever is in it", () => {
    const { log, lines } = openLog();
    log.info(HOSTILE);
    log.info({ [HOSTILE]: { [HOSTILE]: [HOSTILE] }, big: "x".repeat(100_000) }, `%s ${HOSTILE}`, HOSTILE);
    log.child({}).warn({ what: HOSTILE }, "x");
    expect(lines()).toHaveLength(3);
    for (const line of lines()) {
      expect(line).toMatch(/^[\x20-\x7e“”…]+$/);
      expect(line.length).toBeLessThan(3000);
      // A pretty printer undoes what JSON has escaped.
      expect(JSON.stringify(Object.values(JSON.parse(line)))).not.toMatch(/\\u001b|\\u202e|\\n|\\r/);
    }
  });

  it("has no address of a request, which a framework may want to tell", () => {
    const { log, text } = openLog();
    const url = `/v1/sessions/${SECRET}?key=${SECRET}`;
    log.info({ req: { url }, res: { url }, path: url, url }, "closed");
    log.warn(`Reply was already sent, did you forget to "return reply" in the "${url}" (GET) route?`);
    expect(text()).not.toContain("hunter2");
    expect(maskQuoted('a "b" c')).toBe("a “…” c");
  });
});

describe("what a caller is told", () => {
  it("has no path of this host, whatever broke", () => {
    const missing = grab(() => process.chdir("/srv/state/sessions/x"));
    expect(toPublicError(toSandboxError(missing, "SANDBOX_START_FAILED")).toJSON()).toEqual({
      code: "SANDBOX_START_FAILED",
      message: "The sandbox could not be started (ENOENT)",
      hint: "The server's log has it under this request id.",
    });
    expect(toPublicError(toSandboxError(missing, "FILE_FAILED")).message).toBe(
      "Something failed in the server (ENOENT)",
    );
    const ours = new SandboxError("SANDBOX_START_FAILED", "bubblewrap cannot start", { cause: missing });
    expect(toPublicError(ours)).toBe(ours);
  });
});

function grab(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not throw");
}

import { writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { parseConfig } from "../../../core/config/index.js";
import { AuditLogger, queryAudit } from "../../../guard/audit/index.js";
import { parseViolation, ViolationLog } from "./violations.js";

const real = requires("linux", "bubblewrap", "sandbox-runtime", "python3");

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});

it.each([
  ["not JSON", "deny"],
  ["null", "null"],
  ["no time", '{"what":"deny openat /x"}'],
  ["a time that is none", '{"at":1e300,"what":"deny openat /x"}'],
  ["no text", '{"at":1,"what":7}'],
])("takes no violation from a line with %s", (_, line) => {
  expect(parseViolation(line)).toBeUndefined();
});

it("makes what a program wrote harmless", () => {
  const line = JSON.stringify({ at: 5, what: `deny openat /\u001b[31m${"x".repeat(1000)}` });
  const violation = parseViolation(line);
  expect(violation?.at).toEqual(new Date(5));
  expect(violation?.what).not.toContain("\u001b");
  expect(violation?.what).toHaveLength(500);
});

it("is taken by two at once without waiting in vain", async () => {
  const log = await ViolationLog.open(directory);
  const host = connect(join(directory, "violations.sock"));
  // Only an answer may end the waiting.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    let questions = 0;
    host.on("data", () => host.write(`{"at":${++questions},"what":"deny openat /x"}\n\n`));
    host.write('{"at":0,"what":"deny openat /x"}\n');
    // It is connected as soon as something came.
    while ((await log.take()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const asked = questions;
    const taken = await Promise.all([log.take(), log.take(), log.take()]);
    expect(taken.flat()).toHaveLength(questions - asked);
    expect(questions - asked).toBe(2);
  } finally {
    vi.useRealTimers();
    host.destroy();
    log.close();
  }
});

it("says that reports are lost, and goes on, when its socket fails", async () => {
  const server = createServer();
  const log = await ViolationLog.open(directory, server);
  for (let time = 0; time < 2; time++)
    server.emit("error", Object.assign(new Error("accept"), { code: "EMFILE" }));
  expect((await log.take()).map(({ what }) => what)).toEqual([
    "reports of sandbox-runtime are lost (EMFILE)",
    "reports of sandbox-runtime are lost (EMFILE)",
  ]);
  log.close();
});

it("is not opened where there is no place for its socket", async () => {
  await expect(ViolationLog.open(join(directory, "missing"))).rejects.toMatchObject({ syscall: "listen" });
});

real.it("audits what a program was refused, once for each, and nothing of what it may do", async () => {
  const settingsPath = join(directory, "settings.json");
  // Python tries to keep what it compiled.
  const ignoreViolations = { "*": ["/__pycache__/"] };
  writeFileSync(settingsPath, JSON.stringify({ network: { allowAllUnixSockets: false }, ignoreViolations }));
  const config = await parseConfig({ sandbox: { backends: { srt: { settingsPath } } } }, "test");
  const audit = new AuditLogger({ directory: join(directory, "audit") });
  const manager = openManager({ config, audit, backend: "srt", stateDir: join(directory, "state") });
  try {
    const code = [
      "import socket",
      "def attempt(what):",
      "  try: what()",
      "  except OSError as error: print(error.errno)",
      "for n in range(3): attempt(lambda: open('/usr/bin/evil', 'w'))",
      "attempt(lambda: open('/proc/sys/kernel/core_pattern', 'w'))",
      "attempt(lambda: socket.socket(socket.AF_UNIX))",
      "open('/workspace/mine', 'w').write('x'); open('/tmp/mine', 'w').write('x'); open('/dev/null', 'w').write('x')",
      "print('done')",
    ].join("\n");
    const result = await manager.execute({ language: "python", code });
    expect(result.stdout).toBe("30\n30\n30\n2\n1\ndone\n");
  } finally {
    await manager.close();
    await audit.close();
  }
  const told: unknown[] = [];
  for await (const { event_type, backend, details } of queryAudit(join(directory, "audit")))
    if (event_type === "sandbox_violation") told.push([backend, details]);
  expect(told).toEqual([
    ["srt", { what: "deny openat /usr/bin/evil", times: 3 }],
    ["srt", { what: "deny openat /proc/sys/kernel/core_pattern", times: 1 }],
  ]);
});

import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT } from "../../../../test/e2e/run-skerry.js";

/** Runs a program with the command line's own modules, as `skerry serve` has them. */
function run(program: string) {
  const source = `
    import { fastify } from ${JSON.stringify(`${ROOT}node_modules/fastify/fastify.js`)};
    import { logOptions } from ${JSON.stringify(`${ROOT}dist/server/http/log.js`)};
    import { logProcess } from ${JSON.stringify(`${ROOT}dist/cli/commands/serve/log-process.js`)};
    const { log } = fastify({ logger: logOptions("info", process.stderr) });
    const logging = logProcess(log);
    ${program}`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    encoding: "utf8",
  });
  return { status, lines: stderr.trimEnd().split("\n") };
}

it("has warnings of the process as lines of the log, and gives them back to Node", () => {
  const { status, lines } = run(`
    process.emitWarning('A file "hunter2" could not be copied\\u001b[2J', "CopyWarning");
    setTimeout(() => { logging[Symbol.dispose](); process.emitWarning("plain"); }, 50);`);
  expect(status).toBe(0);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 40,
    warning: "CopyWarning",
    msg: "A file “…” could not be copied\\x1b[2J",
  });
  expect(lines[1]).toMatch(/^\(node:\d+\) Warning: plain/);
});

it("has an uncaught error as its last line, without what a caller wrote, and ends", () => {
  const { status, lines } = run(`setTimeout(() => Promise.reject(new Error("hunter2")), 1);`);
  expect(status).toBe(70);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 60,
    error: [expect.stringMatching(/^Error\n {4}at /)],
    msg: "the server ends: uncaught exception",
  });
  expect(lines[0]).not.toContain("hunter2");
});

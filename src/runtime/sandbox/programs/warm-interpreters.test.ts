import { beforeAll, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import type { SandboxManager } from "../../../core/manager/index.js";
import type { RunningSandbox } from "../index.js";

const { describe, it } = requires("linux", "bubblewrap");

let stateDir: string;
let manager: SandboxManager;
let sandbox: RunningSandbox;

beforeAll(async () => {
  stateDir = temporaryDirectory();
  manager = openManager({ stateDir, backend: "bubblewrap" });
  sandbox = await manager.startSandbox("warm");
});

/** What a program prints in an interpreter that was started ahead. */
async function printed(language: string, code: string): Promise<string> {
  await sandbox.prewarm(language);
  const { stdout, stderr, warm } = await sandbox.runCode(code, { language });
  expect({ stderr, warm }).toEqual({ stderr: "", warm: true });
  return stdout;
}

describe("an interpreter that is kept started", () => {
  it("takes the second program of a sandbox without a session", async () => {
    await using ephemeral = await manager.startSandbox("once", { ephemeral: true });
    const run = () => ephemeral.runCode("console.log(1)", { language: "javascript" });
    expect(await run()).toMatchObject({ stdout: "1\n", warm: false });
    await ephemeral.prewarm("javascript");
    expect(await run()).toMatchObject({ stdout: "1\n", warm: true });
  });

  it("is not promised where there is none", async () => {
    const unsupported = expect.objectContaining({ code: "UNSUPPORTED" });
    await expect(sandbox.prewarm("bash")).rejects.toThrow(unsupported);
    await using cold = openManager({ stateDir: temporaryDirectory(), backend: "bubblewrap", warm: false });
    const without = await cold.startSandbox("cold");
    await expect(without.prewarm("javascript")).rejects.toThrow(unsupported);
  });

  it.each(["javascript", "typescript"])("reads package.json when its program runs: %s", async (language) => {
    for (const name of ["one", "two"]) {
      await sandbox.files.write(`${name}.cjs`, `module.exports = "${name}";`);
      await sandbox.files.write("package.json", JSON.stringify({ imports: { "#it": `./${name}.cjs` } }));
      expect(await printed(language, "console.log(require('#it'))")).toBe(`${name}\n`);
    }
    await sandbox.files.write("package.json", "{ this is not JSON");
    await sandbox.prewarm(language);
    const broken = await sandbox.runCode("console.log(require('#it'))", { language });
    expect(broken).toMatchObject({ exitCode: 1, warm: true });
    await sandbox.files.remove("package.json");
  });

  it("sees that a directory has become one of modules", async () => {
    const code = "console.log(typeof require)";
    expect(await printed("javascript", code)).toBe("function\n");
    await sandbox.prewarm("javascript");
    await sandbox.files.write("package.json", JSON.stringify({ type: "module" }));
    expect(await printed("javascript", code)).toBe("undefined\n");
    await sandbox.files.remove("package.json");
    expect(await printed("javascript", code)).toBe("function\n");
  });
});

describe("the clocks of a program whose Node.js was started ahead", () => {
  /** Every clock that starts with the process, in milliseconds, and how old the process is by the kernel's clock. */
  const AGES = `
    const { readFileSync } = require("node:fs");
    const { performance } = require("node:perf_hooks");
    const mark = performance.mark("m"), whole = performance.measure("w");
    const given = performance.mark("g", { startTime: 1e6 }), future = performance.mark("n", { startTime: performance.now() });
    const part = performance.measure("p", { start: performance.now() - 1, end: performance.now() });
    const ages = {
      now: performance.now(), bare: globalThis.performance.now(), uptime: process.uptime() * 1000,
      origin: Date.now() - performance.timeOrigin, json: Date.now() - performance.toJSON().timeOrigin,
      node: performance.nodeTiming.duration, booted: performance.nodeTiming.bootstrapComplete,
      event: new Event("e").timeStamp, mark: mark.startTime, whole: whole.duration, future: future.startTime,
      listed: performance.getEntriesByName("m")[0].startTime,
    };
    const rest = { given: given.startTime, from: whole.startTime, part: Math.abs(part.duration - 1) < 0.9 };
    setImmediate(() => {
      const { idle, active } = performance.eventLoopUtilization();
      Object.assign(ages, { loop: performance.nodeTiming.loopStart, idle, active });
      const own = process.uptime() * 1000;
      const born = readFileSync("/proc/self/stat", "utf8").replace(/^.*\\)/s, "").split(" ")[20] * 10;
      const real = readFileSync("/proc/uptime", "utf8").split(" ")[0] * 1000 - born;
      console.log(JSON.stringify({ ages, rest, own, real }));
    });`;

  it("do not count the waiting", async () => {
    await sandbox.prewarm("javascript");
    const waitingSince = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const waitedMs = performance.now() - waitingSince;
    const { stdout, warm } = await sandbox.runCode(AGES, { language: "javascript" });
    expect(warm).toBe(true);
    const { ages, rest, own, real } = JSON.parse(stdout) as {
      ages: Record<string, number>;
      rest: object;
      own: number;
      real: number;
    };
    expect(rest).toEqual({ given: 1e6, from: 0, part: true });
    // The kernel counts hundredths.
    expect(own).toBeLessThanOrEqual(real - waitedMs + 20);
    // Wall clocks are set, and by whole milliseconds.
    expect(Object.entries(ages).filter(([, age]) => !(age >= -10 && age <= own + 10))).toEqual([]);
  });
});

describe("a JavaScript program with module syntax", () => {
  it.each([true, false])("has the name and the place that plain Node.js gives it, warm: %s", async (warm) => {
    const own = warm ? manager : openManager({ stateDir: temporaryDirectory(), warm: false });
    const session = await own.startSandbox("modules");
    if (warm) await session.prewarm("javascript");
    const code = `import { basename } from "node:path";
console.log(basename(import.meta.url), basename(process.argv[1]), typeof require);
console.log(new Error("here").stack.split("\\n")[1].replace(/file:.*\\//, ""));`;
    const result = await session.runCode(code, { language: "javascript" });
    expect(result).toMatchObject({ warm, stderr: "", exitCode: 0 });
    expect(result.stdout).toBe("main.js main.js undefined\n    at main.js:3:13\n");
    const named = await session.runCode(code, { language: "javascript", filename: "job.mjs" });
    expect(named.stdout).toContain("job.mjs job.mjs undefined\n");
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { createUser, type Ended, LAUNCHER, type User } from "./run-skerry.js";

const MIB = 1024 * 1024;
const BIG = 300 * MIB;

let user: User;
let here: string;
let runs = 0;

beforeAll(() => {
  user = createUser();
  // Room on a disk: a workspace in memory would count as the sandbox's.
  writeFileSync(join(user.home, "room.yaml"), "sandbox:\n  limits:\n    workspace: 1gb\n");
  writeFileSync(
    join(user.home, "peak.cjs"),
    `process.on("exit", () => require("node:fs").writeFileSync(process.env.PEAK, String(process.resourceUsage().maxRSS)));`,
  );
});

beforeEach(() => {
  here = join(user.home, `run-${runs++}`);
  mkdirSync(here);
});

function exec(script: string, ...args: string[]): Ended {
  return user.skerry(["exec", "--config", "../room.yaml", ...args, "--", "sh", "-c", script], { cwd: here });
}

/** The same, and how much memory our own process had at its most. */
function peakMb(script: string, ...args: string[]): number {
  const peak = join(here, "peak");
  const env = { NODE_OPTIONS: `--require ${join(user.home, "peak.cjs")}`, PEAK: peak };
  const words = ["exec", "--config", "../room.yaml", ...args, "--", "sh", "-c", script];
  expect(user.skerry(words, { cwd: here, env })).toEqual({ status: 0, stdout: "", stderr: "" });
  return Number(readFileSync(peak, "utf8")) / 1024;
}

function endOf(file: string): string {
  const end = Buffer.alloc(3);
  const descriptor = openSync(file, "r");
  readSync(descriptor, end, 0, 3, statSync(file).size - 3);
  closeSync(descriptor);
  return end.toString();
}

const partials = () => readdirSync(here).filter((name) => name.endsWith(".partial"));

const real = requires("root", "linux", "bubblewrap");

real.describe("files of any size", () => {
  it("go in and out without growing in memory", () => {
    writeFileSync(join(here, "small"), "end");
    writeFileSync(join(here, "big"), "");
    truncateSync(join(here, "big"), BIG - 3);
    writeFileSync(join(here, "big"), "end", { flag: "a" });
    const small = peakMb("cp small out", "--input", "small", "--output", "out");

    const read = `[ "$(stat -c %s big)" = ${BIG} ] && [ "$(tail -c 3 big)" = end ]`;
    const takesIn = peakMb(read, "--input", "big");
    expect(takesIn - small).toBeLessThan(100);

    const write = `truncate -s ${BIG - 3} out && printf end >> out`;
    for (const session of [[], ["--session", "big"]]) {
      const givesOut = peakMb(write, "--output", "out:copy", ...session);
      expect(givesOut - small).toBeLessThan(100);
      expect({ size: statSync(join(here, "copy")).size, end: endOf(join(here, "copy")) }).toEqual({
        size: BIG,
        end: "end",
      });
    }
    expect(partials()).toEqual([]);
  });

  it("that do not fit into the workspace are an error, and nothing runs", () => {
    writeFileSync(join(here, "big"), "");
    truncateSync(join(here, "big"), 40 * MIB);
    writeFileSync(join(here, "config.yaml"), "sandbox:\n  limits:\n    workspace: 16mb\n");
    const words = ["exec", "--config", "config.yaml", "--input", "big", "--", "echo", "it ran"];
    const { status, stdout, stderr } = user.skerry(words, { cwd: here });
    expect({ status, stdout }).toEqual({ status: 74, stdout: "" });
    expect(stderr).toMatch(/^skerry: .*big.*(full|space)/);
  });

  it("that would be larger outside than the workspace may be stay inside", () => {
    writeFileSync(join(here, "out"), "old");
    const { status, stderr } = exec("truncate -s 3G out", "--output", "out");
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/^skerry: --output out: .*larger/);
    expect(readFileSync(join(here, "out"), "utf8")).toBe("old");
    expect(partials()).toEqual([]);
  });
});

real.describe("a copy that is interrupted", () => {
  it.each([
    ["once, and waits for the end", 1],
    ["twice, and waits for nothing", 2],
  ])("%s leaves the old file and no half of the new one", async (_, times) => {
    writeFileSync(join(here, "out"), "old");
    const words = [
      "exec",
      "--config",
      "../room.yaml",
      "--output",
      "out",
      "--",
      "truncate",
      "-s",
      "1000M",
      "out",
    ];
    const child = spawn(LAUNCHER, words, { cwd: here, env: user.environment, stdio: "ignore" });
    const ended = once(child, "exit");
    while (partials().length === 0 && child.exitCode === null) await new Promise((go) => setTimeout(go, 2));
    for (let i = 0; i < times; i++) child.kill("SIGINT");
    const [status] = await ended;
    expect(status).toBe(130);
    expect(readFileSync(join(here, "out"), "utf8")).toBe("old");
    expect(partials()).toEqual([]);
  });
});

real.describe("--output", () => {
  it("brings one file to several places, and to a directory under its own name", () => {
    mkdirSync(join(here, "into"));
    const { status } = exec("printf x > a", "--output", "a:one", "--output", "./a:two", "--output", "a:into");
    expect(status).toBe(0);
    const found = ["one", "two", "into/a"].map((name) => readFileSync(join(here, name), "utf8"));
    expect(found).toEqual(["x", "x", "x"]);
  });

  it("means a name as it is, whatever characters it has", () => {
    const { status } = exec(`printf x > 'a*[b]{c}'; printf y > ab`, "--output", "a*[b]{c}:out");
    expect({ status, out: readFileSync(join(here, "out"), "utf8") }).toEqual({ status: 0, out: "x" });
  });

  it.each([
    ["a link to a file of this host", "ln -sf /etc/hostname out"],
    ["a link to a directory on the way", "ln -sfn /etc d; :", "d/hostname"],
    ["a pipe", "mkfifo out"],
    ["nothing", "true"],
    ["a directory", "mkdir out"],
  ])("does not follow or wait for %s, with and without a session", (_, script, path = "out") => {
    for (const session of [[], ["--session", `links-${runs}`]]) {
      const { status, stdout, stderr } = exec(script, "--output", `${path}:host`, ...session);
      expect({ failed: status !== 0, stdout }).toEqual({ failed: true, stdout: "" });
      expect(stderr).toMatch(new RegExp(`^skerry: --output ${path}: .+\n$`));
      expect(existsSync(join(here, "host"))).toBe(false);
    }
  });

  it("says which place on this machine cannot be written, and brings the others", () => {
    const { status, stderr } = exec("printf x > a; printf y > b", "--output", "a:no/such/a", "--output", "b");
    expect({ status, stderr }).toEqual({
      status: 66,
      stderr: "skerry: --output a: no/such/a: no such file or directory\n",
    });
    expect(readFileSync(join(here, "b"), "utf8")).toBe("y");
  });

  it("is the policy's to decide about, also with a session", () => {
    writeFileSync(
      join(here, "policy.yaml"),
      "policies:\n  default: { denied_paths: [/workspace/secret/**] }\n  tools:\n    shell_exec: { risk_level: high }\n",
    );
    for (const session of [[], ["--session", "decided"]]) {
      const { status, stderr } = exec(
        "true",
        "--policy",
        "policy.yaml",
        "--output",
        "secret/key:k",
        ...session,
      );
      expect({ status, stderr }).toEqual({
        status: 77,
        stderr: expect.stringContaining("secret/key is denied"),
      });
    }
  });
});

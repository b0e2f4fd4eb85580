import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "./setup/clean-up.js";

const ROOT = join(import.meta.dirname, "..");
const USER = "65534";
const BACKENDS = ["bubblewrap", "srt"];

interface Outcome {
  readonly title: string;
  readonly skip?: string;
  readonly error?: string;
}

/** The built package where another user can read it: a clone may be in a home directory. */
const copy = temporaryDirectory();

function copyPackage(): void {
  const names = [
    "dist",
    "prebuilt",
    "package.json",
    "node_modules",
    "test/conformance-worker.mjs",
    "examples",
  ];
  for (const name of names) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, verbatimSymlinks: true });
  }
  execFileSync("chmod", ["-R", "a+rX", copy]);
}

async function runAsOrdinaryUser(backend: string): Promise<Outcome[]> {
  const command = [
    "--reuid",
    USER,
    "--regid",
    USER,
    "--clear-groups",
    process.execPath,
    "test/conformance-worker.mjs",
    backend,
  ];
  const child = spawn("setpriv", command, {
    cwd: copy,
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const outcomes: Outcome[] = [];
  for await (const line of createInterface({ input: child.stdout }))
    outcomes.push(JSON.parse(line) as Outcome);
  return outcomes;
}

const reason = process.getuid?.() === 0 ? undefined : "it takes root to become another user";
if (reason !== undefined) console.log(`skipped: ordinary user: ${reason}`);
const outcomesOf = new Map<string, Outcome[]>();
if (reason === undefined) {
  copyPackage();
  for (const backend of BACKENDS) outcomesOf.set(backend, await runAsOrdinaryUser(backend));
}

describe.skipIf(reason !== undefined).each(BACKENDS)("%s as an ordinary user", (backend) => {
  const outcomes = outcomesOf.get(backend) ?? [];

  it("claims everything but what takes root", () => {
    const refused = outcomes.filter(({ skip }) => skip !== undefined).map(({ title }) => title);
    expect(refused).toEqual([
      "ends a program at the memory limit and says so",
      "ends with a program at the memory limit, and says so where the backend can tell",
      "goes on working after a program reached the memory limit",
      "limits processor time",
      "limits the workspace in bytes and in files",
    ]);
    expect(outcomes.length).toBeGreaterThan(25);
  });

  for (const { title, error } of outcomes.filter(({ skip }) => skip === undefined)) {
    it(title, () => expect(error).toBeUndefined());
  }
});

describe.skipIf(reason !== undefined)("skerry eval as an ordinary user", () => {
  const evaluate = (...args: string[]) => {
    const home = join(copy, "home");
    mkdirSync(home, { recursive: true });
    chownSync(home, Number(USER), Number(USER));
    const files = ["problems.jsonl", "samples.jsonl"].map((name) => join(copy, "examples", name));
    const command = [process.execPath, join(copy, "dist/bin/skerry.cjs"), "eval", files[0]!];
    return spawnSync(
      "setpriv",
      ["--reuid", USER, "--regid", USER, "--clear-groups", ...command, "--samples", files[1]!, ...args],
      {
        cwd: home,
        env: { PATH: "/usr/bin:/bin", HOME: home, SKERRY_STATE_DIR: join(home, "state") },
        encoding: "utf8",
      },
    );
  };

  it("needs no limit that takes root", () => {
    const { status, stdout, stderr } = evaluate("--output", "results.jsonl", "--json");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ samples: 3, passed: 2, notRun: 0 });
  });

  it("refuses one that was asked for", () => {
    const { status, stderr } = evaluate("--output", "other.jsonl", "--memory", "256mb");
    expect(status).toBe(69);
    expect(stderr).toContain("cannot enforce limits.memory on this host");
  });
});

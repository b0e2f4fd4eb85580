import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The releases that are tested besides the one that runs the tests. */
const RELEASES = [22, 24] as const;

describe.each(RELEASES)("on Node.js %i", { timeout: 900_000 }, (release) => {
  const bin = join(ROOT, "build", `node-${release}`, "bin");
  const node = join(bin, "node");
  const { it } = requires("linux", "bubblewrap", `node-${release}`);

  function run(command: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}`, ...more };
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd,
      env,
      encoding: "utf8",
      input: "",
    });
    if (status !== 0)
      throw new Error(`${command} ${args.join(" ")}: ${error ?? status}\n${stdout}\n${stderr}`);
    return stdout;
  }

  it("the conformance suite passes", () => {
    const report = join(temporaryDirectory(), "report.json");
    const args = ["run", "--reporter=json", `--outputFile=${report}`, "src/core/testing/conformance.test.ts"];
    const suite = { SKERRY_TEST_SUITE: "all", SKERRY_LEAK_CHECK: "warn" };
    run(node, [join(ROOT, "node_modules/vitest/vitest.mjs"), ...args, "-t", "bubblewrap"], ROOT, suite);
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8")) as Record<
      string,
      number
    >;
    expect(numFailedTests).toBe(0);
    expect(numPassedTests).toBeGreaterThan(40);
  });

  it("the packed package runs as command and as library", () => {
    const directory = temporaryDirectory();
    const pack = [
      "pack",
      "--ignore-scripts",
      "--workspaces",
      "--include-workspace-root",
      "--pack-destination",
      directory,
    ];
    run("npm", pack, ROOT);
    const tarballs = readdirSync(directory).map((name) => join(directory, name));
    expect(tarballs.length).toBe(2);
    const project = join(directory, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "name": "empty", "private": true }\n');
    run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...tarballs], project);
    const env = { HOME: directory, SKERRY_STATE_DIR: join(directory, "state") };
    const command = join(project, "node_modules/.bin/skerry");
    expect(run(command, ["run", "--language", "python", "--code", "print(40 + 2)"], project, env)).toBe(
      "42\n",
    );
    writeFileSync(
      join(project, "main.mjs"),
      `import { Sandbox } from "skerry";
await using sandbox = await Sandbox.create();
const { stdout } = await sandbox.runCode("console.log(6 * 7)", { language: "javascript" });
console.log(process.versions.node.split(".")[0], stdout.trim());
`.replace("await using sandbox", release < 24 ? "const sandbox" : "await using sandbox") +
        (release < 24 ? "await sandbox.close();\n" : ""),
    );
    expect(run(node, ["main.mjs"], project, env)).toBe(`${release} 42\n`);
  });
});

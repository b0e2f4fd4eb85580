import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { blocksOf, type CommandLine, commandLines } from "./documents.js";
import {
  CONTAINER_HOST,
  directory,
  environment,
  HOST,
  IN_CONTAINERS,
  useDocker,
  useReader,
} from "./reader.js";

/** Lines that a test must not run, and why. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^(npm|npx|node) /, "sets up or tests this repository"],
  [/^claude /, "needs Claude Code"],
  [/^\.\/skerry shell/, "needs a terminal"],
  [/^\.\/skerry (serve|approvals|status(?! --local))/, "takes a server that runs; test/e2e has them"],
  [/^(install|systemctl|skerry keys) /, "sets up a service"],
  [/^(promtool|pg_dump|pg_restore) /, "needs a program of Prometheus or PostgreSQL"],
  [/\$SKERRY_URL/, "takes a server that runs; server.test.ts runs it"],
  [/^\.\/skerry port/, "ends with Ctrl-C"],
  [/^\.\/skerry egress (allow|deny)/, "needs a session that runs"],
  [/(pip install|examples\/fetch\.py|api\.github\.com)/, "needs the Internet"],
  [/^\.\/skerry image build/, "takes minutes; test/docker does it"],
  [/^\.\/skerry bench/, "takes minutes"],
  [/^\.\/skerry doctor --fix/, "changes the host"],
];

const sandboxed = requires(...HOST);
const containers = requires(...CONTAINER_HOST);
/** A limit on memory takes a cgroup of our own. */
const limited = requires("cgroups");

useReader();

/** Runs one line as a reader would, and compares what is shown. */
function check({ line, output }: CommandLine): void {
  // In a session of its own: otherwise the command would ask on the terminal of the test run.
  const { status, stdout } = spawnSync("setsid", ["--wait", "bash", "-c", `exec 2>&1\n${line}`], {
    cwd: directory,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (output === undefined) expect({ status, stdout }).toEqual({ status: 0, stdout: expect.any(String) });
  else expect(stdout).toBe(output);
}

sandboxed.describe("the commands of the documents do what they say", () => {
  const tried = commandLines.filter(({ line }) => !NOT_RUN.some(([pattern]) => pattern.test(line)));
  const runnable = tried.filter(({ line }) => !IN_CONTAINERS.test(line));

  containers.describe("with a daemon", () => {
    useDocker();
    it.each(tried.filter(({ line }) => IN_CONTAINERS.test(line)))("$where $line", check);
  });

  const succeedsWithMemory = ({ line, output }: CommandLine) =>
    output === undefined && line.includes("--memory");

  it.each(runnable.filter((each) => !succeedsWithMemory(each)))("$where $line", check);
  limited.it.each(runnable.filter(succeedsWithMemory))("$where $line", check);

  it("and the result that docs/results.md shows has the keys of a real one", () => {
    const [block] = blocksOf("docs/results.md", "json");
    const { stdout } = spawnSync(
      "./skerry",
      ["run", "--language", "python", "--code", "print(40+2)", "--json"],
      {
        cwd: directory,
        env: environment,
        input: "",
        encoding: "utf8",
      },
    );
    // What was read is left out where the host could not look in time.
    const [shown, real] = [JSON.parse(block!.text), { filesRead: [], ...JSON.parse(stdout) }];
    expect(Object.keys(shown).sort()).toEqual(Object.keys(real).sort());
    const changing = [
      "executionTimeMs",
      "cpuTimeMs",
      "memoryUsedMb",
      "sandboxId",
      "sessionId",
      "auditId",
      "warm",
    ];
    const stable = (result: object) =>
      Object.entries(result)
        .filter(([key]) => !changing.includes(key))
        .sort();
    expect(stable(shown)).toEqual(stable(real));
  });
});

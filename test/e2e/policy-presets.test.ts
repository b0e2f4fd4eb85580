import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, expect } from "vitest";
import type { PolicyPreset } from "../../src/guard/policy/index.js";
import { requires } from "../setup/requires.js";
import { startMcp, textOf } from "./mcp-client.js";
import { createUser, type User } from "./run-skerry.js";

const LONG_MS = 180_000;
const { describe, it } = requires("linux", "bubblewrap", "python3", "git", "npm");
let user: User;

beforeAll(() => {
  user = createUser();
  for (const preset of ["dev", "strict", "readonly"] satisfies PolicyPreset[])
    user.skerry(["policy", "init", "--preset", preset, "-o", `${preset}.yaml`]);
});

const exec = (policy: string, ...words: string[]) =>
  user.skerry(["exec", "--session", "work", "--policy", policy, ...words]);

describe("the policy of skerry policy init", { timeout: LONG_MS }, () => {
  it("lets an agent work as on its own machine, without a role and without a question", () => {
    const first = exec("dev.yaml", "--", "sh", "-c", "git init -q . && seq 30 > a.txt");
    expect(first).toEqual({ status: 0, stdout: "", stderr: "" });
    const manifest = JSON.stringify({ scripts: { test: "node -e 'console.log(6 * 7)'" } });
    exec("dev.yaml", "--", "sh", "-c", `echo "$1" > package.json`, "sh", manifest);
    for (const [line, printed] of [
      ["git status --short", "?? a.txt\n?? package.json\n"],
      ["ls | head", "a.txt\npackage.json\n"],
      ["npm test --silent", "42\n"],
      ["x=$(echo ls); $x a.txt", "a.txt\n"],
    ] as const) {
      // npm says on standard error that it could not look for a newer one.
      expect(exec("dev.yaml", "--", "sh", "-c", line)).toMatchObject({ status: 0, stdout: printed });
    }
  });

  it("lets every tool work that an MCP client is shown", async () => {
    const { client, call } = await startMcp(user, ["--policy", "dev.yaml"]);
    const done = new Map<string, CallToolResult["isError"]>();
    const use = async (name: string, args: Record<string, unknown>) => {
      const result = await call(name, args);
      done.set(name, result.isError);
      expect(result.isError, textOf(result)).toBe(false);
    };
    await use("file_write", { path: "add.py", content: "def add(a, b):\n    return a - b\n" });
    await use("file_edit", { path: "add.py", oldText: "a - b", newText: "a + b" });
    await use("file_read", { path: "add.py" });
    await use("file_list", {});
    await use("file_search", { content: "return" });
    await use("run_code", { language: "python", code: "import add; print(add.add(1, 2))" });
    await use("shell_exec", { command: "ls | head && git init -q . && git status" });
    const cases = [{ call: "add(1, 2)", expected: 3 }];
    await use("run_tests", { language: "python", path: "add.py", cases });
    await use("file_delete", { path: "add.py" });
    const { tools } = await client.listTools();
    expect([...done.keys()].sort()).toEqual(tools.map(({ name }) => name).sort());
  });

  it("has a person asked about what is dangerous, and has no network", () => {
    const wipe = ["run", "--policy", "dev.yaml", "-l", "python", "-c", "import shutil; shutil.rmtree('/')"];
    expect(user.skerry(wipe)).toMatchObject({ status: 77, stderr: expect.stringContaining("critical") });
    expect(exec("dev.yaml", "--", "curl", "-fsS", "http://example.com").status).not.toBe(0);
  });
});

describe("the preset strict", { timeout: LONG_MS }, () => {
  const strict = (...words: string[]) => exec("strict.yaml", "--role", "code_assistant", "--", ...words);

  it("lets the commands run that it names, and no others", () => {
    expect(strict("sh", "-c", "ls | head -n 1")).toMatchObject({ status: 0 });
    for (const line of ["make", "curl http://x", "rm -fr .", "find . -delete", "cat .env", "$x"])
      expect([line, strict("sh", "-c", line).status]).toEqual([line, 77]);
  });

  it("denies a call that names no role", () => {
    expect(exec("strict.yaml", "--", "ls").status).toBe(77);
  });
});

describe("the preset readonly", { timeout: LONG_MS }, () => {
  it("lets files be read, and nothing else", async () => {
    const { call } = await startMcp(user, ["--policy", "readonly.yaml"]);
    expect(await call("file_list")).toMatchObject({ isError: false });
    expect(exec("readonly.yaml", "--", "ls").status).toBe(77);
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PolicyEngine, type PolicyRequest, parsePolicy } from "./index.js";

const TRICKS: { "run curl": Record<string, string[]>; "known only when it runs": string[] } = JSON.parse(
  readFileSync(new URL("../analysis/testdata/tricks.json", import.meta.url), "utf8"),
);

/** An engine with these rules for shell_exec and run_code. */
function engine(rules: string): PolicyEngine {
  return new PolicyEngine(
    parsePolicy(`policies:\n  tools:\n    shell_exec: ${rules}\n    run_code: ${rules}\n`, "p.yaml"),
  );
}

async function verdict(policy: PolicyEngine, request: Omit<PolicyRequest, "tool"> | string): Promise<string> {
  const parts = typeof request === "string" ? { command: request } : request;
  return (await policy.decide({ tool: "shell_exec", ...parts })).verdict;
}

describe("a denied command is denied", () => {
  const policy = engine("{denied_commands: [curl]}");
  const texts = Object.entries(TRICKS["run curl"]).flatMap(([group, list]) =>
    list.map((text) => [group, JSON.stringify(text), text]),
  );
  it.each(texts)("%s: %s", async (_group, _shown, text) => {
    expect(await verdict(policy, text!)).toBe("deny");
  });

  it.each(TRICKS["known only when it runs"].map((text) => [JSON.stringify(text), text]))(
    "when it may be what %s runs",
    async (_, text) => {
      expect(await verdict(policy, text!)).toBe("deny");
    },
  );

  it.each([
    ["words that no shell reads", { argv: ["curl", "x"] }],
    ["a shell among such words", { argv: ["sh", "-c", "curl x"] }],
    ["code in Python", { code: "import os\nos.system('curl x')", language: "python" }],
    [
      "code in Python whose command is made when it runs",
      { code: "import os\nos.system(input())", language: "py" },
    ],
    ["code in JavaScript", { code: "require('child_process').execSync('curl x')", language: "javascript" }],
    [
      "code in TypeScript",
      { code: "import { exec } from 'node:child_process';\nexec('curl x' as string);", language: "ts" },
    ],
    [
      "a name in escapes",
      { code: String.raw`require('child_process').exec\u0053ync('curl x')`, language: "js" },
    ],
    ["a name in look-alike letters", { code: "import os\nos.𝓼𝔂𝓼𝓽𝓮𝓶('curl x')", language: "python" }],
    [
      "the constructor of a function",
      {
        code: `(async()=>{}).constructor("process.mainModule.require('child_process').execSync('curl x')")()`,
        language: "js",
      },
    ],
    [
      "an internal module",
      { code: `process.binding("spawn_sync").spawn({ file: "curl", args: ["curl"] })`, language: "js" },
    ],
    [
      "a worker's text",
      {
        code: `new (require("worker_threads").Worker)(await download(), { eval: true })`,
        language: "js",
      },
    ],
    ["a module of a module", { code: "import shutil\nshutil.os.system('curl x')", language: "python" }],
    [
      "a method by its name",
      {
        code: "import os\nfrom operator import methodcaller\nmethodcaller('system', 'curl x')(os)",
        language: "python",
      },
    ],
    [
      "a value that is changed later",
      { code: "import os\nc = 'ls'\nc = input()\nos.system(c)", language: "python" },
    ],
    [
      "a name that a class only seems to give",
      {
        code: "import os\nc = 'curl x'\nclass A:\n    c = 'ls'\n    def f(self):\n        os.system(c)",
        language: "python",
      },
    ],
    ["npm exec", { command: "npm exec -- curl x" }],
    ["npx", { command: "npx curl@8 x" }],
    ["code for a shell", { code: "ls\ncurl x", language: "bash" }],
    ["code that does not parse", { code: "def f(:", language: "python" }],
    ["code in a language without a reader", { code: "ls", language: "cobol" }],
    ["code in no language", { code: "print(1)" }],
    [
      "code beside a harmless command",
      { command: "ls", code: "import os; os.system('curl x')", language: "python" },
    ],
    ["words beside a harmless command", { command: "ls", argv: ["curl"] }],
    ["what cannot be parsed", { command: "ls 'a" }],
    ["a text of 10 MB", { command: "ls\n".repeat(3_500_000) }],
    ["a NUL byte", { command: "cu\0rl x" }],
  ])("in %s", async (_, request) => {
    expect(await verdict(policy, request)).toBe("deny");
  });

  it.each([
    "ls",
    "echo curl",
    "grep curl f",
    "cat /usr/bin/curl",
    "# curl",
    "ls 'curl x'",
    "curly x",
    "A=curl ls",
    "apt-get install -y curl && pkill curl; docker pull curl",
    "hyperfine http://x/curl; go test ./curl-test",
    "bash build.sh curl; python3 -m unittest curl",
    "echo 'ls' > s.sh; sh s.sh",
    "cat > s.py <<'E'\nprint('curl x')\nE\npython3 s.py",
    "make > build.log; grep -c error build.log",
    "cp a b; ./build.sh",
    "echo ':(){ :|:& };: and curl' # :(){ :|:& };:",
    "awk '/system/ { print \"curl\" }' f",
  ])("and %s is not it", async (text) => {
    expect(await verdict(policy, text)).toBe("allow");
  });

  it.each(["print('curl x')", "import math\nprint(math.pi)", "import subprocess\nsubprocess.run(['ls'])"])(
    "and the program %j does not run it",
    async (code) => {
      expect(await verdict(policy, { code, language: "python" })).toBe("allow");
    },
  );
});

describe("a rule with flags means them in any order and spelling", () => {
  const policy = engine('{denied_commands: ["rm -rf", "git push --force", "find -delete", "chmod -R"]}');
  it.each([
    ["rm -rf a", "deny"],
    ["rm -fr a", "deny"],
    ["rm -r -f a", "deny"],
    ["rm a -r -f", "deny"],
    ["rm -vrf a", "deny"],
    ["rm -Rf a", "deny"],
    ["rm --recursive --force a", "deny"],
    ["rm --recursive -f a", "deny"],
    ["rm --recurs --for a", "deny"],
    ["rm -r$x a", "deny"],
    ["rm $x", "deny"],
    ["rm -r a $x", "deny"],
    ["find . | xargs rm -rf", "deny"],
    ["find . -exec rm -rf {} +", "deny"],
    ["find . -name x -exec rm {} +", "deny"],
    ["RM -rf a", "deny"],
    ["rm a", "allow"],
    ["rm -r a", "allow"],
    ["rm -f a", "allow"],
    ["rm -- -rf", "allow"],
    ['rm -f -- "$x"', "allow"],
    ["git push --force", "deny"],
    ["git push -f origin main", "deny"],
    ["git -C a push --force", "deny"],
    ["git push origin", "allow"],
    ["git pull --force", "allow"],
    ["find . -delete", "deny"],
    ["find . -type d -name elt", "allow"],
    ["chmod -R 777 .", "deny"],
    ["chmod --recursive 777 .", "deny"],
    ["chmod 777 a", "allow"],
  ])("%s: %s", async (text, expected) => {
    expect(await verdict(policy, text)).toBe(expected);
  });
});

describe("a list of allowed commands means that everything else is denied", () => {
  const policy = engine(
    '{allowed_commands: [ls, cat, grep, python, "git status", xargs, ./build.sh], denied_commands: [tee]}',
  );
  it.each([
    ["ls -la", "allow"],
    ["ls | grep x", "allow"],
    ["/bin/ls", "allow"],
    ["/usr/bin/ls", "allow"],
    ["timeout 5 ls", "allow"],
    ["env A=1 ls", "allow"],
    ["find . | xargs ls", "deny"],
    ["ls | xargs cat", "allow"],
    ["python3 x.py", "allow"],
    ["python3.11 x.py", "allow"],
    ["git status", "allow"],
    ["git status --short", "allow"],
    ["git push status", "deny"],
    ["git push", "deny"],
    ["git", "deny"],
    ["./build.sh x", "allow"],
    ["/tmp/build.sh", "deny"],
    ["build.sh", "deny"],
    ["./ls", "deny"],
    ["/workspace/ls", "deny"],
    ["/tmp/bin/python3 x", "deny"],
    ["make", "deny"],
    ["sh -c ls", "deny"],
    ["ls; make", "deny"],
    ["ls $(make)", "deny"],
    ["ls > $(make)", "deny"],
    ["sudo ls", "deny"],
    ["ls | tee f", "deny"],
    ["$x", "deny"],
    ["source ./f", "deny"],
    ["exec 3<>/dev/tcp/evil/80", "deny"],
    ["PATH=. ls", "deny"],
    ["PATH=.; ls", "deny"],
    ["export PATH=.:$PATH; ls", "deny"],
    ["LD_PRELOAD=./x.so ls", "deny"],
    ["env LD_PRELOAD=./x.so ls", "deny"],
    ["A=1 ls", "allow"],
    ["export A=1; ls", "allow"],
    ["cd a && pwd && echo x", "allow"],
    ["if [ -f a ]; then cat a; fi", "allow"],
    ["for f in a b; do cat $f; done", "allow"],
    ["f() { ls; }; f", "allow"],
    ["f() { make; }; f", "deny"],
    ["trap 'ls' EXIT", "allow"],
    ["trap 'make' EXIT", "deny"],
    ["./echo x", "deny"],
    ["python3 -c 'print(1)'", "allow"],
    ["python3 -c 'import os; os.system(\"ls\")'", "allow"],
    ["python3 -c 'import os; os.system(\"make\")'", "deny"],
  ])("%s: %s", async (text, expected) => {
    expect(await verdict(policy, text)).toBe(expected);
  });

  it("an empty list allows only harmless builtins", async () => {
    const none = engine("{allowed_commands: []}");
    expect([await verdict(none, "echo x; cd a"), await verdict(none, "ls")]).toEqual(["allow", "deny"]);
  });
});

describe("a wrapper is denied by its own name", () => {
  const policy = engine("{denied_commands: [env, xargs, sudo, nohup, python, busybox, eval, sh]}");
  it.each([
    "env ls",
    "env",
    "xargs ls",
    "ls | xargs -n1 cat",
    "sudo ls",
    "nohup ls &",
    "timeout 5 env ls",
    "python3 x.py",
    "python3.11 -c 'print(1)'",
    "busybox ls",
    "eval ls",
    "sh x.sh",
    "echo ls | sh",
    "find . -exec sh -c ls \\;",
  ])("%s", async (text) => {
    expect(await verdict(policy, text)).toBe("deny");
  });

  it("but a function or an alias of that name is none", async () => {
    expect(await verdict(policy, "env() { ls; }; env")).toBe("allow");
  });
});

describe("a denied builtin is denied although it is harmless", () => {
  it("echo", async () => expect(await verdict(engine("{denied_commands: [echo]}"), "echo x")).toBe("deny"));
});

it("says which command, where, and how it is reached", async () => {
  const policy = engine("{denied_commands: [curl]}");
  const { why, rule } = await policy.decide({ tool: "shell_exec", command: "ls\nsudo sh -c 'curl x'" });
  expect(why).toBe("curl is not allowed (line 2, by sudo, sh -c)");
  expect(rule).toEqual({
    path: "policies.tools.shell_exec.denied_commands[0]",
    source: "p.yaml",
    line: 3,
    column: 36,
  });
});

it("without a rule about commands nothing is parsed", async () => {
  const policy = engine("{}");
  expect(await verdict(policy, "ls 'a")).toBe("allow");
  expect(
    (await policy.decide({ tool: "run_code", code: "def f(:", language: "python" })).hasCommandRules,
  ).toBe(false);
});

describe("a text that hides curl or rm -rf is denied", () => {
  const hidden: Record<string, string> = JSON.parse(
    readFileSync(new URL("../analysis/testdata/hidden-commands.json", import.meta.url), "utf8"),
  );
  const policy = parsePolicy(
    'version: 1\npolicies:\n  tools:\n    shell_exec:\n      denied_commands: [curl, "rm -rf"]\n',
    "p.yaml",
  );
  it.each(Object.entries(hidden))("%s", async (_name, command) => {
    const { verdict } = await new PolicyEngine(policy).decide({ tool: "shell_exec", command });
    expect(verdict).toBe("deny");
  });
});

describe("a program that hides how it starts curl is denied", () => {
  const hidden: Record<string, string[]> = JSON.parse(
    readFileSync(new URL("../analysis/testdata/hidden-starts.json", import.meta.url), "utf8"),
  );
  const policy = new PolicyEngine(
    parsePolicy("policies:\n  tools:\n    run_code: {denied_commands: [curl]}\n", "p.yaml"),
  );
  const programs = Object.entries(hidden).flatMap(([language, codes]) =>
    codes.map((code) => ({ language, code })),
  );
  it.each(programs)("$language: $code", async (program) => {
    expect((await policy.decide({ tool: "run_code", ...program })).verdict).toBe("deny");
  });

  it.each([
    ["python", "# coding: utf-8\nprint('\\N{BULLET}')"],
    [
      "python",
      "import os, subprocess\nenv = os.environ.copy()\nenv['A'] = '1'\nsubprocess.run(['ls'], env=env)",
    ],
    ["python", "import subprocess\ncmd = ['git']\ncmd.append('status')\nsubprocess.run(cmd, check=True)"],
    ["python", "import subprocess\nruns = {}\nfor c in [['ls', '-l']]:\n    runs[c[0]] = subprocess.run(c)"],
    [
      "python",
      "import importlib.util\nspec = importlib.util.find_spec('json')\nm = importlib.util.module_from_spec(spec)",
    ],
    ["python", "import os, subprocess\nprint(os.environ.get('EDITOR'))\nsubprocess.run(['ls'])"],
    ["javascript", "const { Worker } = require('worker_threads'); new Worker('./x.js', { workerData: 1 });"],
    ["javascript", "require('child_process').execSync('ls', { cwd: '/tmp', encoding: 'utf8' });"],
    ["javascript", "process.exitCode = 1; require('child_process').execSync('ls');"],
    ["python", "with open('a.py', 'w') as f:\n    f.write('print(1)')\nimport os\nos.system('python3 a.py')"],
    ["python", "import subprocess\nsubprocess.run(['git', 'apply'], input=open('p').read(), text=True)"],
    ["python", "from unittest import mock\nmock.patch('subprocess.run')"],
    ["javascript", "jest.mock('child_process'); expect(names).toContain('child_process');"],
    ["javascript", "require('child_process').execFile('ls', ['-l'], (e, out) => console.log(out));"],
    ["javascript", "A.prototype.run = () => 1; require('child_process').execSync('ls');"],
    ["bash", "[[ -v a[0] && $n -eq 1 ]]; ENV=production ls; ssh -o BatchMode=yes h ls"],
  ])("but not %s: %s", async (language, code) => {
    expect((await policy.decide({ tool: "run_code", language, code })).verdict).toBe("allow");
  });
});

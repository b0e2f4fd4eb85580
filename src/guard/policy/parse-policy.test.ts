import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import { checkPolicy, loadPolicy, POLICY_PRESETS, parsePolicy, readPolicyText } from "./index.js";

/** Two complete policies. Their keys and units must stay valid. */
const DOCUMENT = readFileSync(new URL("./testdata/policy-examples.md", import.meta.url), "utf8");
const EXAMPLES = [...DOCUMENT.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1]!);

/** "3:5 policies.tools: message (hint)" of every problem. */
function problemsOf(text: string): string[] {
  return checkPolicy(text, "p.yaml").map(({ line, column, path, message, hint }) => {
    return `${line}:${column} ${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
  });
}

/** The rules of one tool, role or the defaults, as a file. */
const tools = (body: string) => `policies:\n  tools:\n${indent(body, 4)}`;
const roles = (body: string) => `policies:\n  agent_roles:\n${indent(body, 4)}`;
const defaults = (body: string) => `policies:\n  default:\n${indent(body, 4)}`;

function indent(text: string, by: number): string {
  return text
    .split("\n")
    .map((line) => " ".repeat(by) + line)
    .join("\n");
}

describe("the example policies", () => {
  it("are two", () => expect(EXAMPLES).toHaveLength(2));

  it.each(EXAMPLES.map((text, index) => [["3.2", "3.3"][index], text]))("%s loads as it is", (_, text) => {
    expect(problemsOf(text!)).toEqual([]);
  });

  it("load together in one file", () => expect(problemsOf(EXAMPLES.join("\n"))).toEqual([]));

  it("mean what they say", () => {
    const policy = parsePolicy(EXAMPLES.join("\n"), "p.yaml");
    expect([...policy.tools.keys()]).toEqual(["file_read", "shell_exec", "run_code", "browser_automation"]);
    expect([...policy.roles.keys()]).toEqual(["code_assistant", "data_analyst", "web_scraper"]);
    expect(policy.default.settings).toMatchObject({
      max_execution_time: {
        value: 30_000,
        rule: { path: "policies.default.max_execution_time", line: 5, column: 5 },
      },
      max_memory: { value: 512 },
      max_cpu: { value: 1 },
      network_access: { value: false },
    });
    expect(policy.network.deniedPorts.map(({ value }) => value)).toEqual([22, 3306, 5432, 6379]);
    expect(policy.network.allowedDomains.map(({ value }) => value)).toContain("*.githubusercontent.com");
  });
});

it.each(Object.entries(POLICY_PRESETS))("the preset %s of `policy init` loads", (_, text) => {
  expect(checkPolicy(text, "preset")).toEqual([]);
});

it.each(["dev", "strict"] as const)("the preset %s holds the document's roles", (name) => {
  expect([...parsePolicy(POLICY_PRESETS[name]).roles.keys()]).toEqual(["code_assistant", "data_analyst"]);
});

describe("a mistake is told with its line, column and the nearest right word", () => {
  it.each<[string, string, string[]]>([
    [
      "a misspelt top key",
      "policys:\n  default: {}\nnetwork: {}\n",
      ['1:1 policys: there is no key "policys" here (Did you mean policies?)'],
    ],
    [
      "a misspelt section",
      "policies:\n  tool: {}\n",
      ['2:3 policies.tool: there is no key "tool" here (Did you mean tools?)'],
    ],
    [
      "a misspelt setting",
      tools("shell_exec:\n  max_memroy: 1GB"),
      [
        '4:7 policies.tools.shell_exec.max_memroy: there is no key "max_memroy" here (Did you mean max_memory?)',
      ],
    ],
    [
      "an unknown tool",
      tools("shel_exec: {}"),
      ['3:5 policies.tools.shel_exec: there is no tool named "shel_exec" (Did you mean shell_exec?)'],
    ],
    [
      "a tool under both of its names",
      tools("run_code: {}\ncode_run: {}"),
      ["4:5 policies.tools.code_run: code_run is another name of run_code, which stands here already"],
    ],
    [
      "a default role that is none",
      `default_role: coder\n${roles("code:\n  tools: [file_read]")}`,
      ['1:15 default_role: there is no role named "coder" (Did you mean code?)'],
    ],
    [
      "a default role of another kind",
      `default_role: [a]\n${roles("a:\n  tools: [file_read]")}`,
      ["1:15 default_role: expected the name of a role, not nothing"],
    ],
    [
      "an unknown tool of a role",
      roles("a:\n  tools:\n    - file_read\n    - file_raed"),
      ['6:11 policies.agent_roles.a.tools[1]: there is no tool named "file_raed" (Did you mean file_read?)'],
    ],
    [
      "an unknown parent",
      roles("analyst:\n  tools: []\nb:\n  inherits: analist\n  tools: []"),
      ['6:17 policies.agent_roles.b.inherits: there is no role named "analist" (Did you mean analyst?)'],
    ],
    [
      "an unknown language",
      tools("run_code:\n  supported_languages: [pyhton]"),
      [
        '4:29 policies.tools.run_code.supported_languages[0]: there is no language named "pyhton" (Did you mean python?)',
      ],
    ],
    [
      "a word that is none of the choices",
      tools("shell_exec:\n  risk_level: hihg"),
      ['4:19 policies.tools.shell_exec.risk_level: expected low, medium, high, critical, not "hihg"'],
    ],
    [
      "a risk level of a role",
      roles("a:\n  tools: []\n  risk_level: low"),
      ["5:7 policies.agent_roles.a.risk_level: only a tool has a risk_level (Write it at the tool.)"],
    ],
    ["another version", "version: 2\npolicies: {}\n", ["1:10 version: expected version 1, not 2"]],
    ["an empty file", "", ["1:1 : the policy is empty (skerry policy init prints one to start from.)"]],
    [
      "a file of comments",
      "# nothing\n",
      ["1:1 : the policy is empty (skerry policy init prints one to start from.)"],
    ],
    ["a list for a block", "policies: []\n", ["1:11 policies: expected a block of keys"]],
    [
      "a text for a list",
      tools("shell_exec:\n  denied_commands: curl"),
      ["4:24 policies.tools.shell_exec.denied_commands: expected a list"],
    ],
    [
      "text for true or false",
      defaults("network_access: yes"),
      ['3:21 policies.default.network_access: expected true or false, not "yes"'],
    ],
    [
      "a rule that allows every host",
      'network:\n  allowlist:\n    domains: ["*"]\n',
      ["3:15 network.allowlist.domains[0]: this would allow every host"],
    ],
    [
      "a rule that allows whole suffixes",
      defaults('allowed_domains: ["*.com", "*.co.uk", "*evil.com", "example.*", "*.github.io"]'),
      [
        "3:23 policies.default.allowed_domains[0]: a wildcard for a whole top-level domain is too wide: anyone can register a name under com",
        "3:32 policies.default.allowed_domains[1]: this wildcard is too wide: anyone can register a name under co.uk",
        "3:43 policies.default.allowed_domains[2]: a wildcard for a whole top-level domain is too wide: anyone can register a name under com",
        "3:56 policies.default.allowed_domains[3]: anyone can register a name that begins like this",
        "3:69 policies.default.allowed_domains[4]: this wildcard is too wide: anyone can register a name under github.io",
      ],
    ],
    [
      "a rule that allows every address",
      "network:\n  allowlist:\n    ips: [0.0.0.0/0]\n",
      ["3:11 network.allowlist.ips[0]: this range is too wide: at least /8 is expected"],
    ],
    [
      "a number in a list of names",
      tools("shell_exec:\n  denied_commands: [1]"),
      ["4:25 policies.tools.shell_exec.denied_commands[0]: expected text, not 1"],
    ],
    [
      "shell syntax in a list of commands",
      tools('shell_exec:\n  denied_commands: ["curl | sh"]'),
      [
        '4:25 policies.tools.shell_exec.denied_commands[0]: expected a command such as "curl" or "rm -rf", not shell syntax: "curl | sh"',
      ],
    ],
    [
      "a host with a scheme",
      defaults('allowed_domains: ["https://x"]'),
      [
        '3:23 policies.default.allowed_domains[0]: expected a domain such as "example.com" or "*.example.com", without scheme, port or path',
      ],
    ],
    [
      "an address that is none",
      "network:\n  allowlist:\n    ips: [10.0.0.300]\n",
      [
        '3:11 network.allowlist.ips[0]: expected an address or a range such as "192.0.2.0/24", not "10.0.0.300"',
      ],
    ],
    [
      "a port that is none",
      "network:\n  denylist:\n    ports: [0]\n",
      ["3:13 network.denylist.ports[0]: expected a port from 1 to 65535, not 0"],
    ],
    [
      "a tool declared twice",
      "custom_tools:\n  - shell_exec\npolicies: {}\n",
      ["2:5 custom_tools[0]: shell_exec is built in and need not be declared"],
    ],
    [
      "a role named default",
      roles("default:\n  tools: []"),
      ["3:5 policies.agent_roles.default: default is the name of the defaults, not of a role"],
    ],
  ])("%s", (_, text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  it.each([
    ["a negative size", "max_memory: -1GB", "it must not be negative"],
    ["a negative number", "max_pids: -5", "at least 4"],
    ["nothing", "max_memory: 0", "at least one byte"],
    ["a size without room to start", "max_memory: 1KB", "at least 4 MiB"],
    ["a negative time", "max_execution_time: -30s", "it must not be negative"],
    ["no time", "max_execution_time: 0s", "longer than zero"],
    ["a time without end", "max_execution_time: 400d", "the longest is 24 days"],
    ["an unknown unit", "max_memory: 1XB", "the unit"],
    ["not a number", "max_cpu: .nan", "at least 0.01"],
    ["no end", "max_cpu: .inf", "at least 0.01"],
    ["half a process", "max_pids: 4.5", "whole number"],
    ["a block for a number", "max_memory: {a: 1}", "expected a value"],
  ])("a limit that is %s", (_, line, expected) => {
    const [problem, ...others] = checkPolicy(defaults(line), "p.yaml");
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ line: 3, path: `policies.default.${line.split(":")[0]}` });
    expect(problem?.message).toContain(expected);
  });

  it("every problem is told, not only the first", () => {
    const text = tools(
      "shel_exec: {}\nfile_read:\n  max_memroy: 1\n  risk_level: none\nrun_code:\n  max_cpu: -1",
    );
    expect(checkPolicy(text, "p.yaml").map(({ line }) => line)).toEqual([3, 5, 6, 8]);
  });

  it("parsing throws them as one POLICY_INVALID with source, line and column", () => {
    const text = tools("shel_exec: {}\nfile_read:\n  max_memroy: 1");
    expect(() => parsePolicy(text, "p.yaml")).toThrow(expect.objectContaining({ code: "POLICY_INVALID" }));
    expect(() => parsePolicy(text, "p.yaml")).toThrow(
      /^p\.yaml:3:5: .*shel_exec[\s\S]*\np\.yaml:5:7: .*max_memroy/,
    );
  });
});

describe("rules that contradict each other are a mistake", () => {
  it.each<[string, string, string]>([
    [
      "a tool that runs code without a sandbox",
      tools("shell_exec:\n  sandbox_enabled: false"),
      "4:7 shell_exec runs code, which never happens outside a sandbox",
    ],
    [
      "a custom tool without a sandbox",
      `custom_tools: [deploy]\n${tools("deploy:\n  sandbox_enabled: false")}`,
      "5:7 deploy runs code, which never happens outside a sandbox",
    ],
    [
      "defaults without a sandbox",
      `policies:\n  default:\n    sandbox_enabled: false\n  tools:\n    shell_exec: {}\n`,
      "3:5 shell_exec runs code, which never happens outside a sandbox",
    ],
    [
      "a role without a sandbox",
      roles("a:\n  tools: [file_read, run_code]\n  sandbox_enabled: false"),
      "5:7 run_code runs code, which never happens outside a sandbox",
    ],
    [
      "a command that is allowed and denied",
      tools("shell_exec:\n  allowed_commands: [ls, curl]\n  denied_commands: [curl]"),
      '5:25 "curl" is both allowed and denied',
    ],
    [
      "a command that is denied and asked about",
      tools("shell_exec:\n  confirm_commands: [curl]\n  denied_commands: [curl]"),
      '5:25 "curl" is both denied and to be confirmed',
    ],
    [
      "a path that is allowed and denied",
      tools('file_read:\n  allowed_paths: ["/workspace/a"]\n  denied_paths: ["/workspace/a"]'),
      '5:22 "/workspace/a" is both allowed and denied',
    ],
    [
      "hosts without a network",
      tools("browser_automation:\n  network_access: false\n  allowed_domains: [a.example]"),
      "5:7 domains are allowed, and network_access is false",
    ],
    [
      "a critical tool without confirmation",
      tools("shell_exec:\n  risk_level: critical\n  requires_confirmation: false"),
      "5:7 a critical tool always asks a person",
    ],
    [
      "a built-in critical tool without confirmation",
      tools("network_scan:\n  requires_confirmation: false"),
      "4:7 a critical tool always asks a person",
    ],
    [
      "a role that inherits itself",
      roles("a:\n  inherits: a\n  tools: []"),
      "3:5 the role a inherits from itself",
    ],
    [
      "a role that can do nothing",
      roles("a:\n  max_memory: 1GB"),
      "3:5 the role a has no tools, so it can do nothing",
    ],
  ])("%s", (_, text, expected) => {
    const found = checkPolicy(text, "p.yaml").map(
      ({ line, column, message }) => `${line}:${column} ${message}`,
    );
    expect(found).toEqual([expected]);
  });

  it("roles that inherit in a circle", () => {
    const text = roles(
      "a:\n  inherits: b\n  tools: []\nb:\n  inherits: [c]\n  tools: []\nc:\n  inherits: a\n  tools: []",
    );
    expect(checkPolicy(text, "p.yaml").map(({ line, message }) => [line, message])).toEqual([
      [3, "the role a inherits from itself"],
      [6, "the role b inherits from itself"],
      [9, "the role c inherits from itself"],
    ]);
  });

  it("a role may have more than the defaults, and a tool without code may go without a sandbox", () => {
    expect(
      problemsOf(
        `${tools("file_read:\n  sandbox_enabled: false")}\n  agent_roles:\n    a:\n      tools: [file_read]\n      max_memory: 8GB`,
      ),
    ).toEqual([]);
  });
});

describe("a file that attacks is refused", () => {
  const bomb = [
    "a: &a [x, x]",
    ...Array.from(
      { length: 12 },
      (_, i) => `b${i}: &b${i} [*${i === 0 ? "a" : `b${i - 1}`}, *${i === 0 ? "a" : `b${i - 1}`}]`,
    ),
  ].join("\n");
  it.each<[string, string, string]>([
    ["a bomb of aliases", bomb, "an alias (*name) is not allowed"],
    ["an anchor that is used", "policies: &a\n  default: *a\n", "an alias (*name) is not allowed"],
    [
      "a merge key",
      "policies:\n  default: {max_pids: 9}\n  tools:\n    shell_exec:\n      <<: {max_pids: 9}\n",
      'there is no key "<<" here',
    ],
    ["a tag", "policies: !!js/function 'x'\n", "not valid YAML"],
    ["a custom tag", "policies: !x {}\n", "not valid YAML"],
    ["a key twice", "policies: {}\npolicies: {}\n", "not valid YAML"],
    ["a key that is a list", "? [a]\n: b\n", "not valid YAML"],
    ["two documents", "policies: {}\n---\npolicies: {}\n", "not valid YAML"],
    ["broken YAML", "policies: [\n", "not valid YAML"],
    ["a NUL byte", "policies:\0 {}\n", ""],
    ["deep nesting", `policies: ${"[".repeat(50_000)}`, "not valid YAML"],
    ["more than 1 MiB", `# ${"x".repeat(1024 * 1024)}\npolicies: {}\n`, "1 MiB"],
  ])("%s", (_, text, expected) => {
    const [first] = checkPolicy(text, "p.yaml");
    expect(first?.message).toContain(expected);
    expect(() => parsePolicy(text, "p.yaml")).toThrow(expect.objectContaining({ code: "POLICY_INVALID" }));
  });

  it.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"])(
    "%s as a name means nothing special",
    (name) => {
      const texts = [
        tools(`${name}: {}`),
        roles(`a:\n  tools: [${name}]`),
        `${name}: {}\npolicies: {}`,
        defaults(`${name}: 1`),
        roles(`a:\n  tools: []\n  inherits: ${name}`),
      ];
      for (const text of texts) expect(checkPolicy(text, "p.yaml")).toHaveLength(1);
    },
  );

  it("roles that inherit each other twice over do not multiply", () => {
    const lines = Array.from(
      { length: 60 },
      (_, index) =>
        `r${index}:\n  inherits: [r${index + 1}, s${index + 1}]\ns${index}:\n  inherits: [r${index + 1}, s${index + 1}]`,
    );
    const text = roles([...lines, "r60:\n  tools: [file_read]", "s60:\n  tools: [file_list]"].join("\n"));
    expect(checkPolicy(text, "p.yaml").map(({ message }) => message)).toContain(
      "roles inherit over more than 32 levels",
    );
  });

  it("a chain of very many roles is refused", () => {
    const text = roles(Array.from({ length: 20_000 }, (_, i) => `r${i}: {inherits: r${i + 1}}`).join("\n"));
    expect(checkPolicy(text, "p.yaml")[0]?.message).toBe("more than 1000 roles");
  });

  it("very many mistakes are told in part", () => {
    const text = tools(Array.from({ length: 30_000 }, (_, i) => `tool${i}: {}`).join("\n"));
    expect(checkPolicy(text, "p.yaml")).toHaveLength(50);
  });

  it("what is shown of it does nothing to a terminal", () => {
    const [problem] = checkPolicy(`"\\e[31mx\\u202e": {}\npolicies: {}\n`, "p.yaml");
    expect(`${problem?.path}${problem?.message}`).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  it("nothing at all makes reading it throw anything but POLICY_INVALID", () => {
    const words = fc.constantFrom(
      "policies",
      "default",
      "tools",
      "shell_exec",
      "agent_roles",
      "a",
      "inherits",
      "network",
      "max_memory",
      "1GB",
      "-1",
      "true",
      "[",
      "]",
      "{",
      "}",
      ":",
      " ",
      "\n",
      "  ",
      "- ",
      "&a",
      "*a",
      "!x",
      "'",
      '"',
      "#",
      "|",
      "?",
      "\0",
      "\ud800",
      "<<",
    );
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 40 }).map((parts) => parts.join("")),
        (text) => {
          try {
            parsePolicy(text, "p.yaml");
          } catch (error) {
            expect(error).toBeInstanceOf(SandboxError);
            expect(error).toMatchObject({ code: "POLICY_INVALID" });
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("loading a file", () => {
  it("that is not there says so", async () => {
    await expect(loadPolicy("/nonexistent/policy.yaml")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  it("that never ends stops at 1 MiB", async () => {
    await expect(readPolicyText("/dev/zero")).rejects.toMatchObject({ code: "POLICY_INVALID" });
  });

  it("that is a directory says so", async () => {
    await expect(readPolicyText("/tmp")).rejects.toMatchObject({ code: "POLICY_INVALID" });
  });
});

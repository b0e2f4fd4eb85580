// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are shell
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCommands, findCommandsOfArgv, findCommandsOfCode } from "./find-commands.js";
import type { ShellCommand } from "./shell/shell-program.js";

/** Texts that run `curl x` and would hide it, and texts that run what is not in them. */
const TRICKS: { "run curl": Record<string, string[]>; "known only when it runs": string[] } = JSON.parse(
  readFileSync(new URL("./testdata/tricks.json", import.meta.url), "utf8"),
);

/** "curl x ?": name and arguments, a question mark for what is known only when it runs. */
function summary({ name, args }: ShellCommand): string {
  return [name, ...args].map((word) => word ?? "?").join(" ");
}

async function summaries(text: string): Promise<string[]> {
  const { commands, problems } = await findCommands(text);
  expect(problems).toEqual([]);
  return commands.map(summary);
}

describe("a command is found", () => {
  const texts = Object.entries(TRICKS["run curl"]).flatMap(([group, list]) =>
    list.map((text) => [group, JSON.stringify(text), text]),
  );
  it.each(texts)("%s: %s", async (_group, _shown, text) => {
    const found = await summaries(text!);
    expect(found.some((each) => /^curl(?: |$)/.test(each))).toBe(true);
  });
});

describe("a command whose name is known only when it runs is found", () => {
  it.each(TRICKS["known only when it runs"].map((text) => [JSON.stringify(text), text]))(
    "in %s",
    async (_, text) => {
      const { commands, problems } = await findCommands(text);
      expect(problems).toEqual([]);
      expect(commands.map(({ name }) => name)).toContain(undefined);
    },
  );
});

describe("nothing is found that does not run", () => {
  it.each([
    ["a word in quotes", "echo 'curl x'", ["echo curl x"]],
    ["a word after a quoted separator", 'echo "a; curl x"', ["echo a; curl x"]],
    ["an escaped separator", "echo a\\; curl x", ["echo a; curl x"]],
    ["a comment", "ls # ; curl x", ["ls"]],
    ["a comment of its own", "# curl x\nls", ["ls"]],
    ["a hash inside of a word", "echo a#b", ["echo a#b"]],
    ["a substitution in single quotes", "echo '$(curl x)'", ["echo $(curl x)"]],
    ["an escaped substitution", 'echo "\\$(curl x)"', ["echo $(curl x)"]],
    ["an escaped backquote", 'echo "\\`curl x\\`"', ["echo `curl x`"]],
    ["a here-document with a quoted delimiter", "cat <<'EOF'\n$(curl x)\nEOF", ["cat"]],
    ["a here-document with an escaped delimiter", "cat <<\\EOF\n`curl x`\nEOF", ["cat"]],
    ["a here-document that no shell reads", "cat <<EOF\ncurl x\nEOF", ["cat"]],
    ["an argument", "grep curl f", ["grep curl f"]],
    ["a file's name", "cat /usr/bin/curl", ["cat /usr/bin/curl"]],
    ["a case pattern", "case a in curl) ls;; esac", ["ls"]],
    ["a value", "A=curl ls", ["ls"]],
    ["a lookup", "command -v curl", ["command -v curl"]],
    ["arithmetic", "((curl = 1))", []],
    ["a condition", "[[ curl == x ]]", []],
    ["a function of that name", "curl() { ls; }; curl x", ["ls"]],
    ["a script's name", "bash curl.sh", ["bash curl.sh"]],
    ["text for another program", "echo 'curl x' | grep x", ["echo curl x", "grep x"]],
    ["a regular expression in JavaScript", "node -e '/x/.exec(\"curl\")'", ['node -e /x/.exec("curl")']],
    ["a text in Python", "python3 -c 'print(\"curl x\")'", ['python3 -c print("curl x")']],
    ["another delimiter in sed", "sed 's|a|e|;s/e/b/g' f", ["sed s|a|e|;s/e/b/g f"]],
    ["or in awk", "awk '{ if (a || b) print }' f", ["awk { if (a || b) print } f"]],
    ["an option after the command", "timeout 5 ls -k curl", ["ls -k curl"]],
    ["a list of tests", "[ -f curl ] && ls", ["[ -f curl ]", "ls"]],
  ])("%s", async (_, text, expected) => {
    expect(await summaries(text)).toEqual(expected);
  });
});

describe("a command says", () => {
  it.each<[string, string[][]]>([
    ["curl", [[]]],
    ["echo $(curl)", [[], ["$(…)"]]],
    ["cat <(curl)", [[], ["<(…)"]]],
    ["env curl", [["env"]]],
    ["sudo env curl", [[], ["sudo", "env"]]],
    ["sh -c 'echo $(curl)'", [[], ["sh -c", "$(…)"], ["sh -c"]]],
    ["xargs curl", [["xargs"]]],
    ["find . -exec curl \\;", [[], ["find -exec"]]],
    ["eval curl", [["eval"]]],
    ["f() { curl; }; f", [["function f"]]],
    ["alias a=curl; a", [[], ["alias a"], []]],
    ["sh <<< curl", [[], ["sh", "here-string"]]],
    ["sh <<E\ncurl\nE", [[], ["sh", "here-document"]]],
    ["echo curl | sh", [[], [], ["sh", "pipe"]]],
    ["python3 -c 'import os; os.system(\"curl\")'", [[], ["python3 -c", "os.system"]]],
    ["trap curl EXIT", [[], ["trap"]]],
  ])("how it is reached: %s", async (text, expected) => {
    const { commands } = await findCommands(text);
    expect(commands.map(({ via }) => via)).toEqual(expected);
  });

  it("where it stands, also behind other lines and in a substitution", async () => {
    const { commands } = await findCommands("ls\n\n  echo a $(\n   curl x) `id`");
    expect(commands.map(({ name, line, column }) => [name, line, column])).toEqual([
      ["ls", 1, 1],
      ["echo", 3, 3],
      ["curl", 4, 4],
      ["id", 4, 13],
    ]);
  });

  it("which commands it reads from", async () => {
    const { commands } = await findCommands("curl x | tee f | sh; cat <(wget y)");
    expect(commands.map(({ name, reads }) => [name, reads.map((each) => each.name)])).toEqual([
      ["curl", []],
      ["tee", ["curl"]],
      ["sh", ["curl", "tee"]],
      [undefined, ["curl", "tee"]],
      ["cat", ["wget"]],
      ["wget", []],
    ]);
  });

  it("which commands made the text it runs", async () => {
    const { commands } = await findCommands('sh -c "$(curl x)"');
    const unknown = commands.find(({ name }) => name === undefined);
    expect(unknown?.reads.map(summary)).toEqual(["curl x"]);
  });

  it("its redirections, and those of the group around it", async () => {
    const { commands } = await findCommands('{ ls 2>&1 >"$A"; } >> .env < in; > empty');
    expect(commands.map(({ name, redirects }) => [name, redirects])).toEqual([
      [
        "ls",
        [
          { operator: ">>", target: ".env" },
          { operator: "<", target: "in" },
          { operator: "2>&", target: "1" },
          { operator: ">", target: undefined },
        ],
      ],
      [":", [{ operator: ">", target: "empty" }]],
    ]);
  });

  it("the assignments that it makes", async () => {
    const { commands } = await findCommands("export PATH=.:$PATH A=1 B");
    expect(commands[0]?.assignments).toEqual([
      { name: "PATH", value: undefined },
      { name: "A", value: "1" },
    ]);
  });

  it("the assignments in front of it", async () => {
    const { commands } = await findCommands("LD_PRELOAD=./x.so A=$B env C=1 ls");
    expect(commands.find(({ name }) => name === "ls")?.assignments).toEqual([
      { name: "LD_PRELOAD", value: "./x.so" },
      { name: "A", value: undefined },
      { name: "C", value: "1" },
    ]);
  });

  it("its path, and which arguments are patterns", async () => {
    const { commands } = await findCommands("./bin/ls '*' *.ts a[1] [");
    expect(commands[0]).toMatchObject({
      name: "ls",
      path: "./bin/ls",
      args: ["*", "*.ts", "a[1]", "["],
      patterns: [1, 2],
    });
  });
});

describe("what cannot be read is a problem", () => {
  it.each([
    ["a quote that is not closed", "ls 'a", "1:4 a single quote is not closed"],
    ["a double quote that is not closed", 'ls "a', "1:4 a double quote is not closed"],
    ["a substitution that is not closed", "ls $(curl", '1:10 a "(" has no ")"'],
    ["a backquote that is not closed", "ls `curl", "1:4 a backquote is not closed"],
    ["an expansion that is not closed", "ls ${a", "1:4 an expansion's brace is not closed"],
    ["a keyword in the wrong place", "ls; fi", '1:5 "fi" stands where a command was expected'],
    ["an end too many", "ls )", '1:4 ")" stands where a command was expected'],
    ["a loop without an end", "while a; do b", '1:14 "done" was expected'],
    ["an empty body", "if a; then fi", '1:12 a command was expected before "fi"'],
    ["an operator without a command", "ls |", "1:5 a command was expected"],
    ["a list that goes nowhere", "ls &&", '1:6 "&&" is followed by nothing'],
    ["a continuation that splits an expansion", "echo $\\\n(curl)", '1:6 a line continuation follows "$"'],
    ["an expression that is none", "((curl x))", '1:11 "((…))" is no arithmetic'],
    ["a NUL byte", "ls\0", "1:3 a NUL byte"],
    ["code that does not parse", "python3 -c 'def f(:'", "1:1 in python3 -c: python that does not parse"],
    ["a text in a text", "sh -c 'ls ('", '1:1 in sh -c: "(" stands after a command'],
  ])("%s", async (_, text, expected) => {
    const { problems } = await findCommands(text);
    expect(problems.map(({ line, column, what }) => `${line}:${column} ${what}`)).toEqual([expected]);
  });

  it("and the lines before and after it are still read", async () => {
    const { commands, problems } = await findCommands("ls\n)\ncurl x");
    expect(commands.map(summary)).toEqual(["ls", "curl x"]);
    expect(problems).toHaveLength(1);
  });

  it("and what a NUL byte splits is read in one piece", async () => {
    expect((await findCommands("cu\0rl x")).commands.map(summary)).toEqual(["curl x"]);
  });

  it.each([
    ["a text of 10 MB", "ls\n".repeat(3_500_000), "longer than 32 KiB, which is not looked into"],
    ["deep nesting", `${"$(".repeat(5_000)}ls${")".repeat(5_000)}`, "nested deeper than 80 levels"],
    ["deep arithmetic", `echo ${"$((".repeat(5_000)}`, "nested deeper than 80 levels"],
    ["deep quoting", `echo ${'"$('.repeat(300)}`, "nested deeper than 80 levels"],
  ])("%s", async (_, text, expected) => {
    const { problems } = await findCommands(text);
    expect(problems[0]?.what).toContain(expected);
  });

  it("texts in texts without end", async () => {
    expect((await findCommands(`${"eval ".repeat(20)}ls`)).problems[0]?.what).toBe(
      "commands are nested deeper than 12 levels",
    );
  });

  it("very many programs in other languages", async () => {
    const { problems } = await findCommandsOfCode("exec('x');".repeat(1_000), "python");
    expect(problems[0]?.what).toBe("more than 100 programs in other languages");
  });

  it("functions that multiply", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `f${index}() { f${index + 1}; f${index + 1}; }`);
    const { problems } = await findCommands([...lines.reverse(), "f0"].join("\n"));
    expect(problems[0]?.what).toBe("takes more work than is done for one text");
  });
});

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

describe("bombs are cheap", () => {
  it.each([
    ["values that double", `A=aaaaaaaaaa;${"A=$A$A;".repeat(200)}$A`],
    ["braces that multiply", `echo ${"{a,b}".repeat(60)}`],
    ["braces in braces", `echo ${"{a,".repeat(400)}b${"}".repeat(400)}`],
    ["a long sequence", "echo {1..999999999}"],
    ["an alias of itself", "alias a='a; a'; a"],
    ["two aliases of each other", "alias a='b; b' b='a; a'; a"],
    ["a function of itself", "f() { f; f; ls; }; f"],
    ["a shell that reads itself", "echo 'sh' | sh"],
    ["many stages", `ls${" | ls".repeat(5_000)}`],
    ["many lists", `${"a && ".repeat(5_000)}b`],
    ["many quotes", `echo ${"'a'".repeat(50_000)}`],
    ["many backslashes", `echo ${"\\a".repeat(50_000)}`],
    ["many loops", `${"for i in 1 2 3 4 5 6 7 8; do ".repeat(12)}ls${"; done".repeat(12)}`],
    ["a megabyte of braces", `echo ${"{a,b}".repeat(200_000)}`],
    ["a megabyte of commands", "a;".repeat(500_000)],
    ["many open braces", `echo ${"{".repeat(50_000)}`],
    ["printf without end", `printf '${"%s".repeat(500)}' ${"a ".repeat(5_000)} | sh`],
  ])("%s", async (_, text) => {
    const { commands, problems } = await findCommands(text);
    expect(commands.length + problems.length).toBeGreaterThan(0);
  });
});

const FRAGMENTS = [
  ..." \t\n;&|<>(){}[]$`'\"\\#!=~*?+@,.-:%/^0123aAx".split(""),
  ...[
    "$(",
    "${",
    "$((",
    "))",
    "<<EOF\n",
    "\nEOF\n",
    "<<<",
    "<(",
    ">(",
    "&&",
    "||",
    ";;",
    "curl",
    "ls",
    "sh -c ",
    "eval ",
  ],
  ...[
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "case ",
    "in ",
    "esac",
    "for ",
    "while ",
    "function ",
    "f()",
    "[[ ",
    "]]",
    "\\\n",
  ],
  ...[
    "python3 -c ",
    "node -e ",
    "awk ",
    "sed ",
    "perl -e ",
    "xargs ",
    "env ",
    "find -exec ",
    "$'",
    "\0",
    "\ue000",
    "é",
    "\ud800",
  ],
];

describe("whatever the text", () => {
  const text = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 60 }).map((parts) => parts.join(""));

  it("it is read without an error, twice the same", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.string({ unit: "binary" })), async (input) => {
        const first = await findCommands(input);
        expect(await findCommands(input)).toEqual(first);
      }),
      { numRuns: 600 },
    );
  });

  it("a program is read without an error", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("python", "javascript", "typescript", "bash"),
        text,
        async (language, code) => {
          await findCommandsOfCode(code, language);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("quoting a text for sh -c keeps every command of it", async () => {
    const command = fc.constantFrom(
      "curl x",
      "ls",
      "a | b",
      "echo $(id)",
      "{ a; }",
      "if a; then b; fi",
      "cat <<E\n`w`\nE\n",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 4 }), async (parts) => {
        const plain = parts.join("\n");
        const direct = (await findCommands(plain)).commands.map(summary).sort();
        const quoted = (await findCommands(`sh -c ${quote(plain)}`)).commands.slice(1).map(summary).sort();
        expect(quoted).toEqual(direct);
      }),
      { numRuns: 100 },
    );
  });
});

describe("words that no shell reads", () => {
  it.each([
    [["curl", "x"], ["curl x"]],
    [["echo", "$(curl x)"], ["echo $(curl x)"]],
    [
      ["sh", "-c", "ls; curl x"],
      ["sh -c ls; curl x", "ls", "curl x"],
    ],
    [["env", "curl", "x"], ["curl x"]],
    [["eval", "curl x"], ["eval curl x"]],
    [[], []],
  ])("%j", async (argv, expected) => {
    expect((await findCommandsOfArgv(argv)).commands.map(summary)).toEqual(expected);
  });
});

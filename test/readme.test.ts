import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command, Option } from "commander";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ENTRIES } from "../bench/entries/index.js";
import { createBody } from "../src/audit/compose-record.js";
import { AUDIT_RESULTS } from "../src/audit/index.js";
import { createProgram } from "../src/cli/program.js";
import { DEFAULT_CONFIG, DEFAULT_LANGUAGE, DEFAULT_LIMITS, parseConfig } from "../src/config/index.js";
import { configSchema } from "../src/config/schema.js";
import { shapeOf } from "../src/config/shape.js";
import { ERROR_CODES } from "../src/errors.js";
import { checkPolicy } from "../src/policy/index.js";
import { SETTING_KINDS } from "../src/policy/setting-kinds.js";
import { getRequiredSandbox, RISK_LEVELS, SECURITY_MODES, type SecurityMode } from "../src/risk/index.js";
import { LANGUAGES, REASONS } from "../src/sandbox/index.js";
import { FromGuest, ToGuest } from "../src/wire/frames.js";
import { DOCKER_START_MS, startDocker } from "./setup/docker.js";
import { requires } from "./setup/requires.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "docs/configuration.md",
  "docs/errors.md",
  "docs/policy.md",
  "docs/risk.md",
  "docs/audit.md",
  "docs/network.md",
  "docs/secrets.md",
  "docs/docker.md",
  "docs/files.md",
  "docs/images.md",
  "docs/pool.md",
  "docs/srt.md",
  "examples/README.md",
] as const;
const read = (document: string) => readFileSync(join(ROOT, document), "utf8");
const readme = read("README.md");

/** One fenced block of a document. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly where: string;
}

function blocksOf(document: string, ...languages: string[]): Block[] {
  const text = read(document);
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .map(({ 1: language, 2: body, index }) => ({
      language: language!,
      text: body!,
      where: `${document}:${text.slice(0, index).split("\n").length}`,
    }))
    .filter(({ language }) => languages.includes(language));
}

/** One command line of a document; `output` is what the reader is told it prints. */
interface CommandLine {
  readonly line: string;
  readonly output: string | undefined;
  readonly where: string;
}

function commandLinesOf(document: string): CommandLine[] {
  return blocksOf(document, "sh", "console").flatMap(({ language, text, where }): CommandLine[] => {
    if (language === "sh") {
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      return lines.map((line) => ({ line, output: undefined, where }));
    }
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf("\n");
        return { line: part.slice(0, end), output: part.slice(end + 1), where };
      });
  });
}

const commandLines = DOCUMENTS.flatMap(commandLinesOf);

/** Words of each `./skerry …` in a line of shell, up to a pipe or the next command. */
function skerryWords(line: string): string[][] {
  const tokens = [...line.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"|;&]+)|([|;&]+)/g)];
  const commands: string[][] = [];
  let current: string[] | undefined;
  for (const [, single, double, bare, operator] of tokens) {
    if (operator !== undefined) current = undefined;
    else if (bare === "./skerry") {
      current = [];
      commands.push(current);
    } else current?.push(single ?? double ?? bare ?? "");
  }
  return commands;
}

/** The command that words name, and the first option it does not have. */
function resolveCommand(words: readonly string[]): { path: string; unknown: string | undefined } {
  let command = createProgram() as Command;
  const path: string[] = [];
  for (const [index, word] of words.entries()) {
    if (word === "--") break;
    if (word.startsWith("-") && word !== "-") {
      const option = command.options.find(({ short, long }) => word === short || word === long);
      if (option === undefined && !["-h", "--help"].includes(word))
        return { path: path.join(" "), unknown: word };
      continue;
    }
    const next = command.commands.find((each) => each.name() === word);
    if (next !== undefined && index === path.length) {
      command = next;
      path.push(word);
    }
  }
  return { path: path.join(" "), unknown: undefined };
}

/** Every command below, with its full name. */
function allCommands(
  command: Command = createProgram(),
  path: string[] = [],
): { path: string; command: Command }[] {
  return command.commands.flatMap((each) => {
    const name = [...path, each.name()];
    return [{ path: name.join(" "), command: each }, ...allCommands(each, name)];
  });
}

/** Rows of a Markdown table after the given header cell; cells without their backticks. */
function tableRows(text: string, header: string): string[][] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${header} |`));
  expect(start, `a table with the column ${header}`).toBeGreaterThan(-1);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith("|")) break;
    rows.push(
      line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

const code = (cell: string | undefined) => /^`(.*)`$/.exec(cell ?? "")?.[1];

describe("every command line in the documents", () => {
  it("is one that the program understands", () => {
    const unknown = commandLines.flatMap(({ line, where }) =>
      skerryWords(line).flatMap((words) => {
        const { path, unknown: option } = resolveCommand(words);
        if (path === "") return [`${where}: no command in ${line}`];
        return option === undefined ? [] : [`${where}: ${path} has no ${option}`];
      }),
    );
    expect(unknown).toEqual([]);
    expect(commandLines.filter(({ line }) => skerryWords(line).length > 0).length).toBeGreaterThan(20);
  });

  it("would notice an option that does not exist", () => {
    expect(resolveCommand(["run", "--tiemout", "3s", "x.py"])).toEqual({ path: "run", unknown: "--tiemout" });
    expect(resolveCommand(["files", "ls", "--session", "work"])).toEqual({
      path: "files ls",
      unknown: undefined,
    });
    expect(skerryWords("cat a | X=1 ./skerry run - ; ./skerry exec -- sh -c 'a; b'")).toEqual([
      ["run", "-"],
      ["exec", "--", "sh", "-c", "a; b"],
    ]);
  });
});

describe("README and the help", () => {
  const help = allCommands();
  const helped = new Set(
    help.flatMap(({ command }) => optionsOf(command)).concat(optionsOf(createProgram())),
  );

  it("name the same options", () => {
    const named = new Set(readme.match(/(?<![\w-])--[a-z][a-z-]*/g));
    expect([...named].filter((option) => !helped.has(option))).toEqual([]);
    expect([...helped].filter((option) => !named.has(option))).toEqual([]);
  });

  it("name the same commands", () => {
    const shown = commandLines
      .flatMap(({ line }) => skerryWords(line))
      .map((words) => resolveCommand(words).path);
    const groups = help.filter(({ command }) => command.commands.length > 0).map(({ path }) => path);
    const missing = help
      .map(({ path }) => path)
      .filter((path) => path !== "help" && !groups.includes(path) && !shown.includes(path));
    expect(missing).toEqual([]);
    const table = tableRows(readme, "command").map(([cell]) => /^`\.\/skerry (\w+)/.exec(cell!)?.[1]);
    const top = createProgram().commands.map((command) => command.name());
    expect(table).toEqual([...top, "help"]);
  });

  it("name the same benchmarks", () => {
    expect(tableRows(readme, "entry").map(([name]) => code(name))).toEqual(ENTRIES.map(({ name }) => name));
  });

  it("name the same languages and reasons", () => {
    expect(tableRows(readme, "language").map((row) => row.slice(0, 3))).toEqual(
      LANGUAGES.map(({ name, aliases, extensions }) =>
        [name].map(quote).concat([list(aliases), list(extensions)]),
      ),
    );
    const reasons = tableRows(readme, "`reason`").flatMap(([cell]) => cell!.match(/[a-z-]+/g) ?? []);
    expect(reasons).toEqual([...REASONS]);
  });
});

const quote = (text: string) => `\`${text}\``;
const list = (texts: readonly string[]) => texts.map(quote).join(", ");

function optionsOf(command: Command): string[] {
  const own = (command.options as readonly Option[])
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long }) => long ?? []);
  return [...own, "--help"];
}

describe("the tables in docs/", () => {
  it("have every error code as it is", () => {
    const rows = tableRows(read("docs/errors.md"), "code");
    const documented = rows.map(([name, http, exit, retry]) => [
      code(name),
      Number(http),
      Number(exit),
      retry === "yes",
    ]);
    const real = Object.entries(ERROR_CODES).map(([name, { http, exit, retryable }]) => [
      name,
      http,
      exit,
      retryable,
    ]);
    expect(documented).toEqual(real);
    expect(rows.filter(([, , , retry, meaning]) => !/^(yes|no)$/.test(retry!) || !meaning)).toEqual([]);
  });

  it("have every setting of the schema, and no other", () => {
    const settings = tableRows(read("docs/configuration.md"), "setting").map(([name]) => code(name));
    expect(settings).toEqual(leavesOf(configSchema));
  });

  it("have the defaults that the program has", async () => {
    const rows = tableRows(read("docs/configuration.md"), "setting");
    const input: Record<string, unknown> = {};
    for (const [name, initial] of rows) {
      if (initial === "–") continue;
      put(input, code(name)!.replace("<name>", "python").split("."), parse(code(initial)!));
    }
    const { sandbox } = await parseConfig(input);
    expect({ sandbox }).toEqual({
      sandbox: { ...DEFAULT_CONFIG.sandbox, limits: DEFAULT_LIMITS, languages: { python: DEFAULT_LANGUAGE } },
    });
  });

  it("have every key of a policy, and examples of policies that load", () => {
    const keys = tableRows(read("docs/policy.md"), "key").flatMap(([cell]) => cell!.split(", ").map(code));
    expect(keys).toEqual(Object.keys(SETTING_KINDS));
    for (const { text, where } of blocksOf("docs/policy.md", "yaml")) {
      expect(checkPolicy(text, where)).toEqual([]);
    }
  });

  it("have every key of an audit record, and every result", () => {
    const rows = tableRows(read("docs/audit.md"), "key");
    const keys = rows.flatMap(([cell]) => cell!.split(", ").map(code));
    expect(keys.sort()).toEqual([...Object.keys(createBody("id", new Date())), "hash"].sort());
    const results = rows.find(([cell]) => cell!.startsWith("`result`"))![1]!.match(/`[a-z-]+`/g);
    expect(results).toEqual(AUDIT_RESULTS.map(quote));
  });

  it("have every level and security mode of the risk assessment", () => {
    const text = read("docs/risk.md");
    expect(tableRows(text, "level").map(([level]) => code(level))).toEqual([...RISK_LEVELS]);
    expect(tableRows(text, "mode").map(([mode]) => code(mode))).toEqual([...SECURITY_MODES]);
    for (const [mode, ...cells] of tableRows(text, "mode")) {
      // "high" and "critical" share a cell.
      const walls = RISK_LEVELS.slice(0, 4).map((level) =>
        getRequiredSandbox(level, code(mode) as SecurityMode),
      );
      expect(cells.map((cell) => (cell.startsWith("behind walls") ? "process" : "none"))).toEqual(walls);
    }
  });

  it("and the block of defaults in README are the same", async () => {
    const [block] = blocksOf("README.md", "yaml");
    const { sandbox } = await parseConfig(parse(block!.text));
    expect(sandbox).toEqual({ ...DEFAULT_CONFIG.sandbox, limits: DEFAULT_LIMITS });
  });
});

it("src/wire/README.md has every frame under its number", () => {
  const text = read("src/wire/README.md");
  for (const [header, frames] of [
    ["host → guest", ToGuest],
    ["guest → host", FromGuest],
  ] as const) {
    const documented = tableRows(text, header).flatMap(([names, numbers]) => {
      const each = numbers!.split(", ");
      return names!.split(", ").map((name, index) => [name, Number.parseInt(each[index]!, 16)]);
    });
    const upper = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    expect(documented).toEqual(Object.entries(frames).map(([name, number]) => [upper(name), number]));
  }
});

/** Paths of every setting, in the order of the schema. */
function leavesOf(schema: Parameters<typeof shapeOf>[0], path: readonly string[] = []): string[] {
  const shape = shapeOf(schema);
  if (shape.kind === "object")
    return [...shape.fields].flatMap(([key, field]) => leavesOf(field, [...path, key]));
  if (shape.kind === "record") return leavesOf(shape.value, [...path, "<name>"]);
  return [path.join(".")];
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (rest.length === 0) {
    target[key!] = value;
    return;
  }
  const block = (target[key!] ?? {}) as Record<string, unknown>;
  target[key!] = block;
  put(block, rest, value);
}

describe("links", () => {
  const links = [...DOCUMENTS, "guest/README.md", "src/backends/README.md", "src/wire/README.md"].flatMap(
    (document) =>
      [...read(document).matchAll(/\]\(([^)]+)\)/g)].map(({ 1: target }) => ({ document, target: target! })),
  );

  it("within the repository lead somewhere", () => {
    const broken = links.filter(({ document, target }) => {
      if (/^https?:/.test(target) || target === "THREAT_MODEL.md") return false;
      const [path, anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path!);
      if (!existsSync(resolve(ROOT, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  const written = existsSync(join(ROOT, "THREAT_MODEL.md"));
  if (!written) console.warn("skipped: the link to THREAT_MODEL.md: it is not written yet");
  it.skipIf(!written && process.env.CI !== "true")("lead to the threat model", () => {
    expect(
      links.some(({ document, target }) => document === "README.md" && target === "THREAT_MODEL.md"),
    ).toBe(true);
    expect(written).toBe(true);
  });
});

function anchorsOf(document: string): string[] {
  return [...read(document).matchAll(/^#+ (.*)$/gm)].map(({ 1: title }) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** Lines that a test must not run, and why. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^(npm|npx|node) /, "sets up or tests this repository"],
  [/^\.\/skerry shell/, "needs a terminal"],
  [/^\.\/skerry port/, "ends with Ctrl-C"],
  [/^\.\/skerry egress (allow|deny)/, "needs a session that runs"],
  [/(pip install|examples\/fetch\.py|api\.github\.com)/, "needs the Internet"],
  [/^\.\/skerry image build/, "takes minutes; test/docker does it"],
  [/^\.\/skerry bench/, "takes minutes"],
  [/^\.\/skerry doctor --fix/, "changes the host"],
];

let directory: string;
let environment: Record<string, string>;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "skerry-readme-"));
  // The sandboxes' own users must be able to pass through.
  chmodSync(directory, 0o711);
  environment = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: directory,
    SKERRY_STATE_DIR: join(directory, "state"),
  };
  mkdirSync(join(directory, "node_modules/@types"), { recursive: true });
  for (const [name, target] of [
    ["examples", "examples"],
    ["README.md", "README.md"],
    ["node_modules/skerry", "."],
    ["node_modules/vitest", "node_modules/vitest"],
    ["node_modules/@types/node", "node_modules/@types/node"],
  ] as const) {
    symlinkSync(join(ROOT, target), join(directory, name));
  }
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
  // The launcher would build first; what it does is tested in test/e2e.
  const script = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "dist/bin/skerry.cjs")}" "$@"\n`;
  writeFileSync(join(directory, "skerry"), script, { mode: 0o755 });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sandboxed = requires("linux", "bubblewrap", "python3");
const containers = requires("linux", "root", "docker", "debootstrap", "gvisor");
/** What takes a daemon: lines of shell, and programs. */
const IN_CONTAINERS = /--backend (docker|gvisor)|\.\/skerry image|^docker |backend: "(docker|gvisor)"/m;
/** A limit on memory takes a cgroup of our own. */
const limited = requires("cgroups");

/** The reader's daemon from now on, with the image in it. */
async function useDocker(): Promise<void> {
  environment = { ...environment, DOCKER_HOST: (await startDocker()).host };
}

/** Runs one line as a reader would, and compares what is shown. */
function check({ line, output }: CommandLine): void {
  // In a session of its own: whoever runs the tests may have a terminal, and would be asked on it.
  const { status, stdout } = spawnSync("setsid", ["--wait", "bash", "-c", `exec 2>&1\n${line}`], {
    cwd: directory,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (output === undefined) expect({ status, stdout }).toEqual({ status: 0, stdout: expect.any(String) });
  else expect(stdout).toBe(output);
}

sandboxed.describe("the commands of the documents do what they say", { timeout: 60_000 }, () => {
  const tried = commandLines.filter(({ line }) => !NOT_RUN.some(([pattern]) => pattern.test(line)));
  const runnable = tried.filter(({ line }) => !IN_CONTAINERS.test(line));

  containers.describe("with a daemon", () => {
    beforeAll(useDocker, DOCKER_START_MS);
    it.each(tried.filter(({ line }) => IN_CONTAINERS.test(line)))("$where $line", check);
  });

  const succeedsWithMemory = ({ line, output }: CommandLine) =>
    output === undefined && line.includes("--memory");

  it.each(runnable.filter((each) => !succeedsWithMemory(each)))("$where $line", check);
  limited.it.each(runnable.filter(succeedsWithMemory))("$where $line", check);

  it("and the result that README shows has the keys of a real one", () => {
    const [block] = blocksOf("README.md", "json");
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
    const changing = ["executionTimeMs", "cpuTimeMs", "memoryUsedMb", "sandboxId", "sessionId", "auditId"];
    const stable = (result: object) =>
      Object.entries(result)
        .filter(([key]) => !changing.includes(key))
        .sort();
    expect(stable(shown)).toEqual(stable(real));
  });
});

describe("the TypeScript of the documents", { timeout: 60_000 }, () => {
  const snippets = DOCUMENTS.flatMap((document) => blocksOf(document, "ts"));
  const fileOf = (where: string) => join(directory, `${where.replaceAll(/\W+/g, "-")}.ts`);

  it("has the types of the package", () => {
    for (const { text, where } of snippets) writeFileSync(fileOf(where), text);
    const program = ts.createProgram(
      snippets.map(({ where }) => fileOf(where)),
      {
        target: ts.ScriptTarget.ES2022,
        lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        types: ["node"],
        typeRoots: [join(directory, "node_modules/@types")],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: true,
        noEmit: true,
      },
    );
    const complaints = ts
      .getPreEmitDiagnostics(program)
      .map(
        ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
      );
    expect(complaints).toEqual([]);
    expect(snippets.length).toBeGreaterThan(5);
  });

  const whole = snippets.filter(({ text }) => !text.includes('from "vitest"'));
  sandboxed.it.each(whole.filter(({ text }) => !IN_CONTAINERS.test(text)))(
    "$where prints what it says",
    runSnippet,
  );
  containers.describe("with a daemon", () => {
    beforeAll(useDocker, DOCKER_START_MS);
    it.each(whole.filter(({ text }) => IN_CONTAINERS.test(text)))("$where prints what it says", runSnippet);
  });

  function runSnippet({ text, where }: Block): void {
    const expected = [...text.matchAll(/\/\/ → (.*)$/gm)].map(({ 1: line }) => `${line}\n`).join("");
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    const script = fileOf(where).replace(/ts$/, "mjs");
    writeFileSync(script, outputText);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      cwd: directory,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: expected, stderr: "" });
  }
});

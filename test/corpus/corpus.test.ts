import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseConfig, SandboxManager } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { openManager } from "../setup/open-manager.js";

const PROGRAMS = join(import.meta.dirname, "programs");
const SIBLINGS = [".stdin", ".args", ".env", ".stdio", ".stdout"];
const LANGUAGES = ["python", "javascript", "typescript"] as const;

interface Program {
  readonly name: string;
  readonly source: string;
  readonly stdin: Buffer;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/** Programs that can run with three pipes; harness.py also runs the ones with a full or broken stdout. */
function loadPrograms(language: string): Program[] {
  const folder = join(PROGRAMS, language);
  return readdirSync(folder)
    .filter((entry) => !SIBLINGS.includes(extname(entry)))
    .map((entry) => {
      const name = entry.replace(/\.[^.]+$/, "");
      const read = (suffix: string, otherwise: string) =>
        existsSync(join(folder, name + suffix))
          ? readFileSync(join(folder, name + suffix))
          : Buffer.from(otherwise);
      return {
        name,
        source: join(folder, entry),
        stdin: read(".stdin", ""),
        args: JSON.parse(read(".args", "[]").toString()) as string[],
        env: JSON.parse(read(".env", "{}").toString()) as Record<string, string>,
      };
    })
    .filter(({ name }) => !existsSync(join(folder, `${name}.stdio`)));
}

/** What differs between two plain runs as well. */
function normalise(text: string): string {
  return text.replaceAll(/0x[0-9a-f]{6,}/g, "0xADDRESS").replaceAll(/\(node:\d+\)/g, "(node:PID)");
}

let stateDir: string;
let staging: string;
let manager: SandboxManager;

beforeAll(async () => {
  stateDir = temporaryDirectory();
  staging = temporaryDirectory();
  const preload = [
    "json",
    "random",
    "logging",
    "threading",
    "asyncio",
    "subprocess",
    "multiprocessing",
    "uuid",
    "tempfile",
    "decimal",
  ];
  manager = openManager({
    stateDir,
    config: await parseConfig({
      sandbox: { languages: { python: { preload } }, limits: { memory: "1gb", pids: 256 } },
    }),
  });
});

/** Puts the program's files into an empty workspace; resolves to its main file's name and code. */
async function place(sandbox: RunningSandbox, program: Program): Promise<{ main: string; code: string }> {
  await sandbox.exec(["find", ".", "-mindepth", "1", "-delete"]);
  rmSync(staging, { recursive: true, force: true });
  if (!statSync(program.source).isDirectory()) {
    return { main: `main${extname(program.source)}`, code: readFileSync(program.source, "utf8") };
  }
  cpSync(program.source, staging, { recursive: true });
  if (existsSync(join(staging, "_node_modules")))
    renameSync(join(staging, "_node_modules"), join(staging, "node_modules"));
  const main = readdirSync(staging).find((name) => name.startsWith("main."))!;
  const code = readFileSync(join(staging, main), "utf8");
  for (const entry of readdirSync(staging, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && path !== join(staging, main))
      await sandbox.files.write(path.slice(staging.length + 1), readFileSync(path));
  }
  return { main, code };
}

describe.each(LANGUAGES)("%s in a warm interpreter prints and ends as in a plain one", (language) => {
  let sandbox: RunningSandbox;

  beforeAll(async () => {
    sandbox = await manager.startSandbox(`corpus-${language}`);
  });

  it.each(loadPrograms(language).map((program) => [program.name, program] as const))(
    "%s",
    async (_, program) => {
      const options = { stdin: program.stdin, env: program.env, timeoutMs: 60_000 };
      const shown = (result: Awaited<ReturnType<RunningSandbox["exec"]>>) => ({
        stdout: normalise(result.stdout),
        stderr: normalise(result.stderr),
        exitCode: result.exitCode,
        signal: result.signal,
      });
      const { main, code } = await place(sandbox, program);
      await sandbox.files.write(main, code);
      const path = `${sandbox.workspacePath}/${main}`;
      const command = {
        python: ["python3", path],
        javascript: ["node", path],
        typescript: ["node", "--require", "/opt/skerry/javascript/programs/typescript-hooks.cjs", path],
      }[language];
      const plain = await sandbox.exec([...command, ...program.args], options);
      await place(sandbox, program);
      await sandbox.prewarm(language);
      const warm = await sandbox.runCode(code, { ...options, language, filename: main, args: program.args });
      expect(shown(warm)).toEqual(shown(plain));
      // A program that asks for settings of the interpreter's start gets a fresh one instead.
      if (Object.keys(program.env).length === 0) expect(warm.warm).toBe(true);
    },
  );
});

it("holds for the runners by themselves, with their output broken or full as well", () => {
  const { stdout, stderr, status } = spawnSync(
    "/usr/bin/python3",
    [join(import.meta.dirname, "harness.py")],
    { encoding: "utf8" },
  );
  expect(status, `${stdout.slice(-3000)}${stderr.slice(-3000)}`).toBe(0);
}, 300_000);

it("gives runs hash seeds and random numbers of their own", async () => {
  const sandbox = await manager.startSandbox("seeds");
  await sandbox.prewarm("python");
  const code = "import random, uuid\nprint(hash('skerry'), random.random(), uuid.uuid4())";
  const run = async (pauseMs: number) => {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const { stdout, warm } = await sandbox.runCode(code, { language: "python" });
    expect(warm).toBe(true);
    return stdout.trim().split(" ") as [string, string, string];
  };
  // A fresh interpreter takes a moment to start: on a busy machine a longer one.
  const apart: string[][] = [];
  for (const pauseMs of [500, 2000, 8000]) {
    apart.length = 0;
    for (let round = 0; round < 5; round++) apart.push(await run(pauseMs));
    if (new Set(apart.map(([hash]) => hash)).size === 5) break;
  }
  for (const column of [0, 1, 2]) expect(new Set(apart.map((words) => words[column])).size).toBe(5);
  // In a burst there is no time to start fresh interpreters: two take turns.
  const burst: string[][] = [];
  for (let round = 0; round < 10; round++) burst.push(await run(0));
  expect(burst.every(([hash], index) => hash !== burst[index + 1]?.[0])).toBe(true);
  for (const column of [1, 2]) expect(new Set(burst.map((words) => words[column])).size).toBe(10);
});

it("never lets two programs share a hash seed where the configuration asks for that", async () => {
  const config = await parseConfig({ sandbox: { languages: { python: { freshHashSeed: true } } } });
  await using strict = new SandboxManager({ config, stateDir, handleSignals: false });
  const sandbox = await strict.startSandbox("fresh-seeds");
  await sandbox.prewarm("python");
  const hashes: string[] = [];
  let warm = 0;
  for (let round = 0; round < 10; round++) {
    const result = await sandbox.runCode("print(hash('skerry'))", { language: "python" });
    hashes.push(result.stdout);
    if (result.warm) warm++;
  }
  expect(new Set(hashes).size).toBe(10);
  expect(warm).toBeGreaterThan(0);
});

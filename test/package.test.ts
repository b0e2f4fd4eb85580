import { execFile, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { beforeAll, expect } from "vitest";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";
import { TestServer } from "./setup/test-server.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What packing reads. Everything else of a clone must not matter. */
const SOURCES = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "src",
  "packages",
  "guest",
  "scripts",
  "examples",
  "deploy",
];
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "THREAT_MODEL.md",
  "SECURITY.md",
  "llms.txt",
  "LICENSE",
  "docs",
];
/** Programs that a machine without a compiler has. bubblewrap and the interpreters are found by their own paths. */
const PLAIN_PROGRAMS =
  "node npm npx sh bash env cat cp dirname basename ls mkdir mv readlink rm sed tar gzip uname".split(" ");

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

const { describe, it } = requires("linux", "bubblewrap", "python3", "gcc", "gcc-arm64");
const emulated = requires("qemu-arm64");

let directory: string;
/** The clone that was packed, built. */
let copy: string;
/** The product's and the client's. */
let tarballs: readonly [product: string, client: string];
/** The package as it lies in the tarball. */
let unpacked: string;
let contents: string[];
/** An empty project that both tarballs were installed into. */
let project: string;
/** Another one, with the client alone. */
let clientProject: string;
let environment: Record<string, string>;

beforeAll(() => {
  directory = temporaryDirectory();
  // The sandboxes' own users must be able to pass through.
  copy = join(directory, "copy");
  tarballs = pack();
  unpacked = join(directory, "unpacked", "package");
  mkdirSync(dirname(unpacked));
  succeed("tar", ["-xzf", tarballs[0], "-C", dirname(unpacked)]);
  contents = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
    .sort();
  const programs = join(directory, "bin");
  mkdirSync(programs);
  for (const name of PLAIN_PROGRAMS) symlinkSync(whereIs(name), join(programs, name));
  environment = { PATH: programs, HOME: directory, SKERRY_STATE_DIR: join(directory, "state") };
  project = install("project", ...tarballs);
  clientProject = install("client-project", tarballs[1]);
});

/** Packs both packages of a copy: the clone itself may be in use. Resolves to the product and the client. */
function pack(): [product: string, client: string] {
  for (const name of [...SOURCES, ...DOCUMENTS]) {
    if (existsSync(join(ROOT, name)) || SOURCES.includes(name)) {
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    }
  }
  linkModules();
  const packed = join(directory, "packed");
  mkdirSync(packed);
  const everything = ["pack", "--workspaces", "--include-workspace-root", "--pack-destination", packed];
  succeed("npm", everything, { cwd: copy, env: npmEnvironment() });
  const expected = [`skerry-${manifest.version}.tgz`, `skerry-client-${manifest.version}.tgz`] as const;
  expect(readdirSync(packed).sort()).toEqual([...expected].sort());
  return [join(packed, expected[0]), join(packed, expected[1])];
}

/** Makes a project with nothing but packages, which are installed where there are few programs. */
function install(name: string, ...packages: string[]): string {
  const path = join(directory, name);
  mkdirSync(path);
  writeFileSync(join(path, "package.json"), '{ "name": "empty", "private": true }\n');
  succeed("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages], {
    cwd: path,
    env: { ...npmEnvironment(), PATH: environment.PATH },
  });
  return path;
}

/** Gives the copy the clone's packages, and its own workspaces. */
function linkModules(): void {
  const modules = join(copy, "node_modules");
  mkdirSync(join(modules, "@skerry"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "@skerry") symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  symlinkSync(join(copy, "packages/client"), join(modules, "@skerry/client"));
}

/** Our own environment, without what an npm that runs this test says about this repository. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) =>
    /^(npm_(package|lifecycle|config_(local_|global_)?prefix)|INIT_CWD$)/i.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}

function succeed(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { ...options, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error ?? status}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Runs a program of a package that the clone has for its development. */
const developer = (program: string, ...args: string[]) =>
  succeed(join(ROOT, "node_modules/.bin", program), args, { cwd: copy, env: npmEnvironment() });

/** What every file of a directory holds. */
const textsOf = (path: string) =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), "utf8")]));

function whereIs(program: string): string {
  const candidates = (process.env.PATH ?? "").split(":").map((each) => join(each, program));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${program} is not in PATH`);
  return realpathSync(found);
}

/** Runs the installed command in the project. */
function skerry(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(join(project, "node_modules/.bin/skerry"), args, {
    cwd: project,
    env: environment,
    input: "",
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** Runs a module of the project. */
function module(code: string) {
  writeFileSync(join(project, "main.mjs"), code);
  const { status, stdout, stderr } = spawnSync("node", ["main.mjs"], {
    cwd: project,
    env: environment,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("the packed package", () => {
  it("holds what package.json names, and nothing else", () => {
    const always = ["package.json", "README.md", "LICENSE"];
    const named = (file: string) =>
      manifest.files.some((each) => file === each || file.startsWith(`${each}/`));
    expect(contents.filter((file) => !always.includes(file) && !named(file))).toEqual([]);
    expect(
      ["README.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md"].filter((file) => !contents.includes(file)),
    ).toEqual([]);
  });

  it("holds no tests and no sources", () => {
    const built = contents.filter((file) => !file.startsWith("examples/"));
    const unwanted = built.filter(
      (file) =>
        /\.test\.|^test\/|(^|\/)(src|node_modules)\//.test(file) ||
        /(?<!\.d)\.ts$|\.(c|h|map|tsbuildinfo|log)$/.test(file),
    );
    expect(unwanted).toEqual([]);
    // Compiled code and its types; whatever else lies in dist is read while the program runs.
    expect(built.filter((file) => file.startsWith("dist/") && !/\.(js|d\.ts)$/.test(file)).sort()).toEqual([
      "dist/bin/bundle.cjs",
      "dist/bin/skerry.cjs",
      "dist/seccomp/cells-arm64.bpf",
      "dist/seccomp/cells-x64.bpf",
      "dist/seccomp/gvisor-arm64.bpf",
      "dist/seccomp/gvisor-x64.bpf",
      "dist/seccomp/sandbox-arm64.bpf",
      "dist/seccomp/sandbox-x64.bpf",
      expect.stringMatching(/^dist\/wasm\/tree-sitter-[0-9a-f]{16}\.wasm$/),
    ]);
  });

  it("holds every file that package.json points at", () => {
    const targets = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((each) =>
        typeof each === "string" ? each : Object.values(each),
      ),
    ].map((path) => path.replace(/^\.\//, ""));
    const missing = targets.filter((target) => {
      const pattern = new RegExp(`^${target.replaceAll(".", "\\.").replace("*", "[^/]+")}$`);
      return !contents.some((file) => pattern.test(file));
    });
    expect(missing).toEqual([]);
  });

  it.each([
    ["x64", 62],
    ["arm64", 183],
  ])("holds a static guest for %s", (architecture, machine) => {
    const path = join(unpacked, `prebuilt/linux-${architecture}/skerry-guest`);
    accessSync(path, constants.X_OK);
    const elf = readFileSync(path);
    expect(elf.subarray(0, 4).toString("latin1")).toBe("\x7fELF");
    expect(elf.readUInt16LE(18)).toBe(machine);
    expect(programHeaderTypes(elf)).not.toContain(PT_INTERP);
  });

  it("holds every file that the runners load", () => {
    const runners = contents.filter(
      (file) => /^prebuilt\/runners\/.*\.[cm]js$/.test(file) && !file.endsWith("typescript.cjs"),
    );
    expect(runners.length).toBeGreaterThan(1);
    const missing = runners.flatMap((file) => {
      const text = readFileSync(join(unpacked, file), "utf8");
      const loads = [...text.matchAll(/(?:require\("(?=\.)|__dirname, ")([\w./-]+\.[cm]js)"/g)].map(
        ({ 1: name }) => posix.join(posix.dirname(file), name!),
      );
      return loads.filter((name) => !contents.includes(name)).map((name) => `${file} loads ${name}`);
    });
    expect(missing).toEqual([]);
  });

  emulated.it("holds an arm64 guest that says hello", () => {
    const guest = join(unpacked, "prebuilt/linux-arm64/skerry-guest");
    const { status, stdout } = spawnSync("qemu-aarch64-static", [guest], {
      input: "",
      env: { PATH: process.env.PATH },
    });
    expect(status).toBe(0);
    expect([stdout.readUInt32LE(0), stdout.readUInt32LE(4), stdout.readUInt32LE(8)]).toEqual([12, 0, 0x81]);
    expect(stdout.toString("latin1", 12, 16)).toBe("SKRY");
  });
});

describe("both packages", () => {
  it.each([
    ["skerry", 0],
    ["@skerry/client", 1],
  ] as const)("are packed so that publint and attw find nothing: %s", (_, which) => {
    developer("publint", "run", "--strict", tarballs[which]);
    developer("attw", "--profile", "esm-only", tarballs[which]);
  });

  it("export what the reports in api/ say, and every type that this takes", () => {
    const outOfReach = succeed("node", ["scripts/api-report.mjs"], { cwd: copy });
    expect(outOfReach, "some entry point has to export these").toBe("");
    expect(textsOf(join(copy, "api")), "`npm run api` writes the reports").toEqual(
      textsOf(join(ROOT, "api")),
    );
  });

  it("have sound types, which are enough for the examples", () => {
    const examples = ["library", "stream", "custom-backend"].map((name) => `examples/${name}.ts`);
    const options =
      "--noEmit --strict --target es2022 --lib es2023,esnext.disposable --module nodenext --types node";
    developer("tsc", ...options.split(" "), ...examples);
  });
});

it("type-checks in a plain strict project, with no types but those of Node.js", () => {
  const names = Object.keys(manifest.exports).filter((each) => !/[*]|package\.json/.test(each));
  const imports = names.map(
    (each, index) => `export * as e${index} from ${JSON.stringify(each.replace(".", "skerry"))};`,
  );
  // The types of Node.js come with those of dockerode.
  writeFileSync(join(project, "plain.mts"), imports.join("\n"));
  const options = "--noEmit --strict --target esnext --module nodenext --types node";
  succeed(join(ROOT, "node_modules/.bin/tsc"), [...options.split(" "), "plain.mts"], {
    cwd: project,
    env: npmEnvironment(),
  });
});

describe("the client, installed alone", () => {
  it("brings little with it", () => {
    const modules = join(clientProject, "node_modules");
    expect(readdirSync(modules).filter((name) => !name.startsWith("."))).toEqual([
      "@skerry",
      "eventsource-parser",
      "ws",
    ]);
    expect(readdirSync(join(modules, "@skerry"))).toEqual(["client"]);
    expect(JSON.parse(readFileSync(join(modules, "@skerry/client/package.json"), "utf8"))).not.toHaveProperty(
      "os",
    );
  });

  it("runs code at a server", async () => {
    const server = await TestServer.open();
    try {
      const code = `
        import { SkerryClient } from "@skerry/client";
        const client = new SkerryClient(${JSON.stringify({ url: server.url, apiKey: server.admin })});
        const session = await client.sessions.create();
        const { stdout } = await session.runCode("print(6 * 7)", { language: "python" });
        const terminal = await session.terminals.open({ rows: 24, columns: 80, argv: ["echo", "over a socket"] });
        let seen = "";
        for await (const bytes of await terminal.connect()) seen += new TextDecoder().decode(bytes);
        await session.delete();
        console.log(JSON.stringify({ stdout, seen }));`;
      writeFileSync(join(clientProject, "main.mjs"), code);
      const ran = await promisify(execFile)("node", ["main.mjs"], { cwd: clientProject, env: environment });
      expect(JSON.parse(ran.stdout)).toEqual({ stdout: "42\n", seen: "over a socket\r\n" });
    } finally {
      await server.close();
    }
  });

  it("becomes a bundle for browsers, with nothing of Node.js in it", async () => {
    // What only Node.js has cannot be resolved, which fails the build, or is a warning where the code catches it.
    const { warnings, outputFiles } = await build({
      stdin: { contents: 'export * from "@skerry/client";', resolveDir: clientProject },
      bundle: true,
      format: "esm",
      platform: "browser",
      logLevel: "silent",
      write: false,
    });
    expect(warnings).toEqual([]);
    expect(outputFiles[0]!.text).not.toMatch(/["'`]node:/);
  });
});

const PT_INTERP = 3;

/** The kinds of segments of a 64-bit little-endian ELF file. */
function programHeaderTypes(elf: Buffer): number[] {
  const start = Number(elf.readBigUInt64LE(32));
  const [size, count] = [elf.readUInt16LE(54), elf.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => elf.readUInt32LE(start + index * size));
}

describe("the package, installed where there is no compiler", () => {
  it("finds no compiler", () => {
    const script =
      "for each in cc gcc clang tcc make python3 bwrap; do command -v $each && echo found; done; true";
    const { status, stdout } = spawnSync("sh", ["-c", script], { env: environment, encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  it("has a command", () => {
    expect(skerry("--version")).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });

  it.each([
    ["python", "print(40+2)"],
    ["javascript", "console.log(40+2)"],
    ["typescript", "const sum: number = 40 + 2; console.log(sum)"],
    ["bash", "echo $((40+2))"],
  ])("runs %s", (language, code) => {
    expect(skerry("run", "--backend", "bubblewrap", "--language", language, "--code", code)).toEqual({
      status: 0,
      stdout: "42\n",
      stderr: "",
    });
  });

  it("runs the example that is blocked", () => {
    const { status, stdout } = skerry("run", "node_modules/skerry/examples/blocked.py");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => /: (\w+)/.exec(line)?.[1]),
    ).toEqual(Array(5).fill("blocked"));
    expect(status).toBe(0);
  });

  it("serves MCP clients", () => {
    expect(skerry("mcp")).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("says that the benchmark is not part of it", () => {
    expect(skerry("bench", "--json")).toMatchObject({
      status: 69,
      stdout: expect.stringContaining('"UNSUPPORTED"'),
    });
  });

  it("is a library", () => {
    const code = `
      import { Sandbox } from "skerry";
      const sandbox = await Sandbox.create({ backend: "auto", ephemeral: true });
      const outputs = [];
      for (let run = 0; run < 3; run++) {
        const { stdout, sandboxType } = await sandbox.runCode("print(40+2)", { language: "python" });
        outputs.push(sandboxType, stdout.trim());
      }
      await sandbox.close();
      console.log(outputs.join());`;
    expect(module(code)).toEqual({
      status: 0,
      stdout: "bubblewrap,42,bubblewrap,42,bubblewrap,42\n",
      stderr: "",
    });
  });

  it("has its other entries", () => {
    const code = `
      import { loadConformanceSuite } from "skerry/testing";
      import { createBubblewrapBackend } from "skerry/backends/bubblewrap";
      import { createMcpServer } from "skerry/mcp";
      import { queryAudit } from "skerry/audit";
      import { registerBackend } from "skerry/backend";
      import { ConfirmationQueue } from "skerry/confirmation";
      import { evaluate } from "skerry/eval";
      import { AgentWorkspace } from "skerry/manager";
      import { PolicyEngine } from "skerry/policy";
      import { ToolSet } from "skerry/tools";
      import { readFileSync } from "node:fs";
      const manifest = JSON.parse(readFileSync(new URL(import.meta.resolve("skerry/package.json")), "utf8"));
      const suite = await loadConformanceSuite({ name: "bubblewrap" });
      console.log(suite.length > 20, typeof createBubblewrapBackend, typeof createMcpServer, manifest.name);
      const all = [queryAudit, registerBackend, ConfirmationQueue, evaluate, AgentWorkspace, PolicyEngine, ToolSet];
      console.log(all.every((each) => typeof each === "function"));`;
    expect(module(code)).toEqual({ status: 0, stdout: "true function function skerry\ntrue\n", stderr: "" });
  });

  it("leaves no session behind", () => {
    for (const name of ["ephemeral", "sessions", "owners"]) {
      const path = join(environment.SKERRY_STATE_DIR!, name);
      expect([name, existsSync(path) ? readdirSync(path) : []]).toEqual([name, []]);
    }
  });
});

// After tsc: compiles the seccomp profile, bundles the command, and removes from dist/ what has no source any more.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");
const target = join(root, "dist");
/** Made below, not by tsc. */
const MADE_HERE = ["bin", "seccomp", "wasm"];

/** Every file below a directory, relative to it. */
function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath ?? entry.path, entry.name)));
}

const isBuilt = (file) =>
  /\.(?:d\.ts|js)$/.test(file) && existsSync(join(source, file.replace(/\.(?:d\.ts|js)$/, ".ts")));
const isForTests = (file) => /(?:\.test|\/simulate)\.(?:d\.ts|js)$/.test(file);

for (const name of MADE_HERE) rmSync(join(target, name), { recursive: true, force: true });
for (const file of filesIn(target)) {
  if (!isBuilt(file) || isForTests(file)) rmSync(join(target, file));
}

const { compileSeccomp } = await import(join(target, "runtime/backends/linux/seccomp/compile.js"));
const { PROFILES } = await import(join(target, "runtime/backends/linux/seccomp/profiles.js"));
mkdirSync(join(target, "seccomp"));
for (const [name, profile] of Object.entries(PROFILES))
  for (const arch of ["x64", "arm64"])
    writeFileSync(join(target, "seccomp", `${name}-${arch}.bpf`), compileSeccomp(profile, arch));

const { createMeteredBinary } = await import(join(target, "kit/parser/grammar.js"));
const metered = await createMeteredBinary();
mkdirSync(join(target, "wasm"));
writeFileSync(join(target, "wasm", metered.name), metered.content);

// A hundred small modules take Node longer to load than a sandbox takes to start: the command is one file, with the
// code that V8 made of it beside. Libraries that few commands need stay outside.
const bundle = join(target, "bin", "bundle.cjs");
await build({
  entryPoints: [join(target, "cli/main.js")],
  outfile: bundle,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  external: [
    "zod",
    "yaml",
    "@vscode/tree-sitter-wasm",
    "prom-client",
    "@peculiar/*",
    "dockerode",
    "@modelcontextprotocol/*",
    "tar-stream",
    "libsql",
    "pg",
    "fastify",
    "@fastify/*",
    "fastify-type-provider-zod",
    "pino-pretty",
  ],
  // A script from V8's cache has no way to import: what stays outside is required.
  supported: { "dynamic-import": false },
  minifyWhitespace: true,
  minifySyntax: true,
  define: { "import.meta.url": "__bundleUrl" },
  banner: { js: 'const __bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
  logLevel: "error",
});
copyFileSync(join(root, "scripts/start-bundle.cjs"), join(target, "bin/skerry.cjs"));
chmodSync(join(target, "bin/skerry.cjs"), 0o755);

// V8 keeps the code of the functions that ran: so run what people run. Where there is no sandbox yet, less is kept.
const stateDir = mkdtempSync(join(tmpdir(), "skerry-build-"));
chmodSync(stateDir, 0o711);
spawnSync(process.execPath, [join(target, "bin/skerry.cjs"), "run", "--language", "bash", "--code", "true"], {
  env: { ...process.env, SKERRY_STATE_DIR: stateDir, SKERRY_WRITE_CODE_CACHE: "1" },
  stdio: "ignore",
});
rmSync(stateDir, { recursive: true, force: true });

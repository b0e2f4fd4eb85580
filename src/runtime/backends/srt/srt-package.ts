import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../../../kit/errors.js";
import { installOnce, removeUnfinished } from "../../../kit/install-once.js";
import { PACKAGE_ROOT } from "../../../kit/package-root.js";

const NAME = "@anthropic-ai/sandbox-runtime";

/** What its library imports, and the part of each that it loads; its command line's are left out. */
const MODULES: Readonly<Record<string, string>> = {
  [NAME]: "dist",
  "@pondwader/socks5-server": "dist",
  "node-forge": "lib",
  zod: "v3",
};

/** sandbox-runtime insists on socat and ripgrep. There is no network to bridge and nothing to search: this is both. */
const NOTHING = `#!/bin/sh
case \${1-} in UNIX-LISTEN:*) path=\${1#UNIX-LISTEN:}; : >"\${path%%,*}" ;; esac
`;

export interface SrtPackage {
  readonly directory: string;
  readonly version: string;
}

/** Where npm put sandbox-runtime; undefined: it is an optional dependency, and not there. */
export function findSrtPackage(from: string = PACKAGE_ROOT): SrtPackage | undefined {
  const directory = findModule(NAME, from);
  if (directory === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    version: string;
  };
  return { directory, version };
}

/** The process that hosts sandbox-runtime, and what it needs, where a sandbox's user can read it. */
export interface SrtRuntime {
  readonly directory: string;
  /** Starts it; a script whose first line names Node. */
  readonly program: string;
  /** Stands in for the programs that sandbox-runtime asks for and that have nothing to do here. */
  readonly nothing: string;
}

/** Copies them, one copy per version. Several processes may do this at once. */
export function installSrtRuntime(stateDir: string, srt: SrtPackage, node: string): SrtRuntime {
  const script = `#!${node}\n${readFileSync(findHostScript(), "utf8")}`;
  const version = createHash("sha256").update(script).update(NOTHING).digest("hex").slice(0, 12);
  const parent = join(stateDir, "runtime");
  const name = `srt-${srt.version}-${version}`;
  const directory = join(parent, name);
  const runtime = { directory, program: join(directory, "host.mjs"), nothing: join(directory, "nothing") };
  removeUnfinished(parent);
  if (existsSync(runtime.program)) return runtime;
  installOnce(parent, name, (temporary) => {
    for (const [module, part] of Object.entries(MODULES)) {
      const found = module === NAME ? srt.directory : findModule(module, srt.directory);
      if (found === undefined) throw incomplete(module);
      copyModule(found, part, join(temporary, "node_modules", module));
    }
    copySeccompHelper(srt.directory, temporary);
    writeFileSync(join(temporary, "nothing"), NOTHING);
    writeFileSync(join(temporary, "host.mjs"), script);
    for (const each of ["nothing", "host.mjs"]) chmodSync(join(temporary, each), 0o555);
  });
  return runtime;
}

/** Beside this module, unless that is in the command's bundle or not compiled. */
function findHostScript(): string {
  const here = fileURLToPath(new URL("./host.js", import.meta.url));
  return existsSync(here) ? here : join(PACKAGE_ROOT, "dist", "runtime", "backends", "srt", "host.js");
}

/** As Node would look for it. */
function findModule(name: string, from: string): string | undefined {
  const directory = join(from, "node_modules", name);
  if (existsSync(join(directory, "package.json"))) return directory;
  const parent = dirname(from);
  return parent === from ? undefined : findModule(name, parent);
}

/** Only what Node would load: no declarations and no maps. */
function copyModule(from: string, part: string, to: string): void {
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "package.json"), join(to, "package.json"));
  cpSync(join(from, part), join(to, part), {
    recursive: true,
    dereference: true,
    filter: (source) => source.endsWith(".js") || statSync(source).isDirectory(),
  });
}

function incomplete(name: string): SandboxError {
  return new SandboxError("BACKEND_UNAVAILABLE", `${name} is not installed, which ${NAME} needs`, {
    hint: "Install the packages again: npm install",
  });
}

function copySeccompHelper(from: string, to: string): void {
  const path = join("vendor", "seccomp", process.arch, "apply-seccomp");
  const target = join(to, "node_modules", NAME, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(from, path), target);
  chmodSync(target, 0o555);
}

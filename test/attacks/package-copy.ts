import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
/** A uid without an entry in /etc/passwd, outside the range that root gives to sandboxes. */
const ORDINARY_UID = 1_899_999_117;

export interface User {
  readonly name: "root" | "an ordinary user" | "this user";
  /** Undefined: as ourselves. */
  readonly uid?: number;
}

/** The users that run the attacks. Root can run them as both. */
export const USERS: readonly User[] =
  process.getuid?.() === 0
    ? [{ name: "root" }, { name: "an ordinary user", uid: ORDINARY_UID }]
    : [{ name: "this user" }];

/** A copy of the package as plain JavaScript that every user can read, under a path with a secret word in it. */
export class PackageCopy {
  readonly #top: string;
  readonly #code: string;
  readonly #stateDirs: string[] = [];
  readonly word = randomBytes(12).toString("hex");

  constructor() {
    this.#top = mkdtempSync("/tmp/skerry-attacks-");
    chmodSync(this.#top, 0o755);
    this.#code = join(this.#top, `code-${this.word}`);
    for (const folder of ["src", "test/attacks"]) transpile(join(ROOT, folder), join(this.#code, folder));
    for (const path of ["prebuilt", "dist/seccomp"])
      cpSync(join(ROOT, path), join(this.#code, path), { recursive: true });
    for (const path of packagesToRun()) {
      cpSync(join(ROOT, path), join(this.#code, path), { recursive: true });
    }
    writeFileSync(join(this.#code, "package.json"), '{ "type": "module" }');
  }

  /** A state directory for this user, with a name that says nothing. */
  stateDir(user: User): string {
    const path = mkdtempSync("/tmp/skerry-attack-");
    chmodSync(path, 0o711);
    if (user.uid !== undefined) chownSync(path, user.uid, user.uid);
    this.#stateDirs.push(path);
    return path;
  }

  /** The user's own directory, with a home and secrets. */
  repo(user: User, purpose: string): { repo: string; home: string } {
    const repo = join(this.#top, `${user.name.replaceAll(" ", "-")}-${purpose}-${this.word}`);
    const home = join(repo, "home");
    for (const path of [".ssh", ".aws"]) mkdirSync(join(home, path), { recursive: true });
    cpSync(join(ROOT, "prebuilt", "runners"), join(repo, "prebuilt", "runners"), { recursive: true });
    for (const path of ["secret.txt", "home/.ssh/id_ed25519", "home/.aws/credentials", "home/.bashrc"]) {
      writeFileSync(join(repo, path), `secret ${this.word}\n`);
    }
    if (user.uid !== undefined) execFileSync("chown", ["-R", `${user.uid}:${user.uid}`, repo]);
    return { repo, home };
  }

  /** Starts one of the programs of this folder as a user, with secrets in its environment and on its descriptors. */
  start(
    program: "runner" | "victim",
    user: User,
    order: object,
    place: { repo: string; home: string },
  ): ChildProcess {
    const script = join(this.#code, "test/attacks", `${program}.js`);
    const become =
      user.uid === undefined
        ? []
        : ["setpriv", `--reuid=${user.uid}`, `--regid=${user.uid}`, "--clear-groups"];
    const command = 'exec 3<"$1" 40<"$1"; shift; exec "$@"';
    const secret = join(place.repo, "secret.txt");
    const argv = ["-c", command, "bash", secret, ...become, process.execPath, script, JSON.stringify(order)];
    return spawn("/bin/bash", argv, {
      cwd: place.repo,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        HOME: place.home,
        USER: `caller-${this.word}`,
        LOGNAME: `caller-${this.word}`,
        SKERRY_SECRET_MARKER: this.word,
        SKERRY_ATTACK_DESCRIPTORS: "3 40",
      },
    });
  }

  remove(): void {
    // A failed attack may have left anything: rm is not stopped by depth or odd names.
    execFileSync("rm", ["-rf", "--", this.#top, ...this.#stateDirs]);
  }
}

/** What is not only for building and testing; grammars are large, and nothing here assesses a risk. */
function packagesToRun(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const isNested = (path: string) => path.lastIndexOf("node_modules/") > 0;
  return Object.keys(packages).filter(
    (path) =>
      path !== "" &&
      packages[path]!.dev !== true &&
      !isNested(path) &&
      !path.includes("@vscode") &&
      existsSync(join(ROOT, path)),
  );
}

function transpile(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    if (entry.isDirectory()) transpile(source, join(to, entry.name));
    else if (entry.name.endsWith(".py")) copyFileSync(source, join(to, entry.name));
    else if (entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts")) {
      const { outputText } = ts.transpileModule(readFileSync(source, "utf8"), {
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          verbatimModuleSyntax: true,
        },
      });
      writeFileSync(join(to, entry.name.replace(/\.ts$/, ".js")), outputText);
    }
  }
}

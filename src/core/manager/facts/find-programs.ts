import type { RunningSandbox } from "../../../runtime/sandbox/index.js";

/** What a sandbox has, as it says itself. */
export interface InstalledPrograms {
  /** "Python 3.11.2", "Node.js 20.19.1", "git". */
  readonly programs: readonly string[];
  /** Notable packages of Python. */
  readonly packages: readonly string[];
}

/** Packages that a model would otherwise try to install. */
const PACKAGES = [
  "numpy",
  "pandas",
  "matplotlib",
  "scipy",
  "sklearn",
  "requests",
  "PIL",
  "openpyxl",
  "pytest",
];
const TOOLS = ["git", "gcc", "make", "curl", "jq", "sqlite3"];

const LOOK = `
python3 -c 'import sys; print("python", sys.version.split()[0])'
node -p '"node " + process.versions.node'
for each in ${TOOLS.join(" ")}; do command -v $each >/dev/null && echo tool $each; done
python3 -c 'import importlib.util as u, sys
for each in sys.argv[1:]:
    if u.find_spec(each): print("package", each)' ${PACKAGES.join(" ")}
true`;

const MOST_MS = 5000;

/** Asks a sandbox. Its answer is one of an attacker's, where somebody else's files are in it: only known words are taken. */
export async function findPrograms(sandbox: Pick<RunningSandbox, "exec">): Promise<InstalledPrograms> {
  const { stdout } = await sandbox.exec(["sh", "-c", `exec 2>/dev/null\n${LOOK}`], { timeoutMs: MOST_MS });
  const words = stdout.split("\n").map((line) => line.split(" "));
  const said = (kind: string, known: readonly string[]) =>
    known.filter((name) => words.some(([first, second]) => first === kind && second === name));
  const version = (kind: string) =>
    words.find(([first, second = ""]) => first === kind && /^\d{1,3}(?:\.\d{1,3}){1,2}$/.test(second))?.[1];
  const [python, node] = [version("python"), version("node")];
  return {
    programs: [
      ...(python === undefined ? [] : [`Python ${python}`]),
      ...(node === undefined ? [] : [`Node.js ${node}`]),
      ...said("tool", TOOLS),
    ],
    packages: said("package", PACKAGES),
  };
}

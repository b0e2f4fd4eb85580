import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/**
 * What a run of Vitest takes. `test` is what every change has to pass; `soak` is what takes long: kills, load, fuzzing,
 * attacks in containers; `unit` needs neither root nor sandboxes; `explore` is those of `test` that draw at random or race, and
 * `explore-soak` is all that do.
 */
const SUITES = ["all", "test", "unit", "soak", "explore", "explore-soak"] as const;
export type Suite = (typeof SUITES)[number];

/** The suite that SKERRY_TEST_SUITE names. A run without it takes every test. */
export function readSuite(): Suite {
  const name = process.env["SKERRY_TEST_SUITE"] ?? "all";
  const suite = SUITES.find((each) => each === name);
  if (suite === undefined)
    throw new Error(`SKERRY_TEST_SUITE has to be one of ${SUITES.join(", ")}, and is ${name}`);
  return suite;
}

/** The test files of a suite, apart from each other: each in a process of its own, or file after file in shared ones. */
export function testFilesOf(suite: Suite): { alone: string[]; together: string[] } {
  const files = ["src", "packages", "bench", "test"].flatMap(findTestFiles).filter(BELONGS[suite]);
  return { alone: files.filter(runsAlone), together: files.filter((path) => !runsAlone(path)) };
}

const isSoak = (path: string) => path.endsWith(".soak.test.ts");

/** Tests that ask for a container's daemon; `requires` leaves them out of `test`. */
const NEEDS_CONTAINERS = /\brequires\([^)]*"(?:docker|podman|gvisor)"/;
/** These have cases without containers, too. */
const MIXED = new Set([
  "src/core/manager/sandboxes/pool-isolation.test.ts",
  "src/core/metrics/monitor.backends.test.ts",
  "src/core/tools/test-driven/backends.test.ts",
  "test/network/attacks.test.ts",
  "test/network/clients.test.ts",
]);
/** Tests that take a sample where the soak takes all. */
const IS_LARGER_IN_SOAK = /\breadSuite\(\) === "soak"/;
const needsContainers = (path: string) => NEEDS_CONTAINERS.test(readFileSync(path, "utf8"));

const BELONGS: Record<Suite, (path: string) => boolean> = {
  all: () => true,
  test: (path) => !isSoak(path) && (MIXED.has(path) || !needsContainers(path)),
  soak: (path) => isSoak(path) || needsContainers(path) || IS_LARGER_IN_SOAK.test(readFileSync(path, "utf8")),
  unit: (path) => !path.startsWith("test/") && !asksForHost(path),
  explore: (path) => BELONGS.test(path) && BELONGS["explore-soak"](path),
  "explore-soak": (path) => DRAWS_OR_RACES.test(readFileSync(path, "utf8")),
};

/** A seed, a property, a swap, or a title that tells of a race or a kill. */
const DRAWS_OR_RACES =
  /\btestSeed\b|"fast-check"|\bstartRace\(|\b(?:it|describe)(?:\.each\(.*\))?\(\s*["`].*\b(?:races?|at once|at the same time|at any moment|whenever|killed|power|several processes)\b/;

/** Of tests with and without containers, these take the latter. */
export const leavesContainersOut = () => ["test", "explore"].includes(readSuite());

/** Calls that change the whole process, and so would change what other test files in it see. */
const CHANGES_PROCESS = /\bvi\.(?:mock|doMock|useFakeTimers)\(|\bregisterBackend\(|\bprocess\.chdir\(/;
/** Files that run a whole suite of minutes. */
const LARGE = /(?:^|\/)testing\//;

function runsAlone(path: string): boolean {
  return path.startsWith("test/") || LARGE.test(path) || CHANGES_PROCESS.test(readFileSync(path, "utf8"));
}

/** What starts processes or sandboxes. */
const STARTS = /"node:child_process"|\bnew SandboxManager\(/;

/** Whether a test, or what it sets up, says what it requires from the host, or starts a process. */
function asksForHost(path: string, seen = new Set<string>()): boolean {
  if (path === "test/setup/requires.ts") return true;
  if (seen.has(path)) return false;
  seen.add(path);
  const source = readFileSync(path, "utf8");
  if (STARTS.test(source)) return true;
  return [...source.matchAll(/from "(\.[^"]*)\.js"/g)]
    .map(([, specifier]) => normalize(join(dirname(path), `${specifier}.ts`)))
    .some((target) => target.startsWith("test/") && asksForHost(target, seen));
}

function findTestFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
    .map((name) => join(directory, name))
    .sort();
}

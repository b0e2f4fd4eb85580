import type { Caller } from "./machine.js";

/** One suite of a cell: a program of `suites/` with its arguments, as the cell's caller. */
export interface Suite {
  readonly name: string;
  readonly command: string;
  readonly timeoutSeconds: number;
}

/** One row of the matrix: who runs Skerry, on a machine of which kind. */
export interface Cell {
  readonly name: string;
  readonly title: string;
  readonly as: Caller;
  /** As root, before and after. */
  readonly setUp?: string;
  readonly tearDown?: string;
  readonly suites: readonly Suite[];
}

const LIMITS = "memory limit|limits |processor time";
const ENFORCED = "memory limit and says so|goes on working after|processes there are|limits processor time";
/** What ends, what stays, and what is seen of others: the walls without every wish of a comfortable guest. */
const WALLS =
  "leaves nothing|takes everything inside|out of each other|hides the host|no privileges|never reads or writes";
const SWAP_FILE = "/swapfile";

const suite = (name: string, minutes: number, program: string, ...args: string[]): Suite => ({
  name,
  timeoutSeconds: minutes * 60,
  command: ["node", `/work/suites/${program}.mjs`, ...args.map((arg) => `'${arg}'`)].join(" "),
});

const works = suite("command line", 15, "command-line", "works");
const attacks = suite(
  "attacks",
  120,
  "attacks",
  "files,processes,network,resources,information,host file API",
);
const someAttacks = suite("attacks", 60, "attacks", "processes,resources");

/** The matrix. `mkswap` and `sysctl` change the running machine, so those cells change it back. */
export const CELLS: readonly Cell[] = [
  {
    name: "root",
    title: "root",
    as: "root",
    suites: [works, suite("conformance", 90, "conformance", ".", ENFORCED), attacks],
  },
  {
    name: "login",
    title: "an ordinary user with a user manager",
    as: "login",
    suites: [works, suite("conformance", 90, "conformance", ".", ENFORCED), attacks],
  },
  {
    name: "plain",
    title: "an ordinary user without one",
    as: "plain",
    suites: [works, suite("conformance", 60, "conformance", `${LIMITS}|${WALLS}`), someAttacks],
  },
  {
    name: "service",
    title: "a service with `User=` and `Delegate=yes`",
    as: "service",
    suites: [works, suite("conformance", 60, "conformance", `${LIMITS}|${WALLS}`, ENFORCED), someAttacks],
  },
  {
    name: "swap",
    title: "root, with swap",
    as: "root",
    setUp: `fallocate -l 1G ${SWAP_FILE} && chmod 600 ${SWAP_FILE} && mkswap -q ${SWAP_FILE} && swapon ${SWAP_FILE}`,
    tearDown: `swapoff ${SWAP_FILE} && rm ${SWAP_FILE}`,
    suites: [suite("memory", 20, "memory"), suite("conformance", 60, "conformance", LIMITS, ENFORCED)],
  },
  {
    name: "no-userns",
    title: "an ordinary user, `kernel.unprivileged_userns_clone=0`",
    as: "login",
    setUp: "sysctl -q kernel.unprivileged_userns_clone=0",
    tearDown: "sysctl -q kernel.unprivileged_userns_clone=1",
    suites: [suite("command line", 15, "command-line", "refuses", "unprivileged_userns_clone")],
  },
  {
    name: "no-userns-root",
    title: "root, `kernel.unprivileged_userns_clone=0`",
    as: "root",
    setUp: "sysctl -q kernel.unprivileged_userns_clone=0",
    tearDown: "sysctl -q kernel.unprivileged_userns_clone=1",
    // Root's sandboxes are ordinary users, and bubblewrap is not setuid there.
    suites: [suite("command line", 15, "command-line", "refuses", "unprivileged_userns_clone")],
  },
];

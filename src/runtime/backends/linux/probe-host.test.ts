import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { requires } from "../../../../test/setup/requires.js";
import type { Probe, ProbeOptions } from "../backend.js";
import { findHostFacts } from "./host-facts.js";
import { type HostProbeOptions, probeHost } from "./probe-host.js";
import { forgetStart } from "./start-trial.js";
import { DEFAULT_USER_RANGE } from "./user-range.js";

const { it } = requires("linux", "bubblewrap");

let directory: string;
/** Of all cases: what a first start copies into it is not what is tested here. */
const stateDir = join(temporaryDirectory(), "state");
beforeEach(() => {
  directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  forgetStart(stateDir);
});

/** Says its version at once, and otherwise does what the script says. */
function bubblewrapThat(script: string, onVersion = "echo bubblewrap 0.8.0"): string {
  const path = join(directory, "bwrap");
  writeFileSync(
    path,
    `#!/bin/sh\ncase $1 in --version) ${onVersion}; exit;; esac\necho >>${directory}/starts\n${script}\n`,
  );
  writeFileSync(join(directory, "starts"), "");
  chmodSync(path, 0o755);
  chmodSync(join(directory, "starts"), 0o666);
  return path;
}

const REAL = 'exec /usr/bin/bwrap "$@"';

function probe(
  path: string | undefined,
  options: ProbeOptions & Partial<HostProbeOptions> = {},
): Promise<Probe> {
  return probeHost(findHostFacts(path), { stateDir, uidRange: DEFAULT_USER_RANGE, ...options });
}

const starts = () => readFileSync(join(directory, "starts"), "utf8").length;

it.each([
  ["is too old", "echo bubblewrap 0.3.1", { what: "bubblewrap 0.3.1 is too old", available: false }],
  // A host where programs start slowly is no host with an old program.
  ["answers late", "exec sleep 60", { what: "bubblewrap does not tell its version", available: true }],
])("says of a bubblewrap that it %s", async (_, onVersion, { what, available }) => {
  const path = bubblewrapThat(REAL, onVersion);
  const found = await probe(path, { thorough: true, answerMs: onVersion.includes("sleep") ? 3000 : 60_000 });
  expect([found.available, found.problems.map((problem) => problem.what)]).toEqual([
    available,
    expect.arrayContaining([what]),
  ]);
});

it("refuses a host on which bubblewrap does not start, whatever the host's settings say", async () => {
  const path = bubblewrapThat("echo bwrap: Creating new namespace failed: The stars are wrong >&2; exit 1");
  const found = await probe(path);
  expect([found.available, found.problems[0]]).toEqual([
    false,
    {
      what: "bubblewrap cannot start: bwrap: Creating new namespace failed: The stars are wrong",
      remedy: "See docs/operate/in-a-container.md.",
    },
  ]);
  // What did not work is tried again with the next question.
  await probe(path);
  expect([starts(), existsSync(join(stateDir, "start-trial"))]).toEqual([2, false]);
});

it("refuses a host on which bubblewrap hangs", async () => {
  const found = await probe(bubblewrapThat("exec sleep 60"), { answerMs: 300 });
  expect([found.available, found.problems[0]?.what]).toEqual([
    false,
    "The sandbox did not answer within 300 ms",
  ]);
});

it("tries once what works: not again in this process, nor in the next one", async () => {
  const path = bubblewrapThat(REAL);
  const first = await probe(path);
  expect([first.available, starts()]).toEqual([true, 1]);
  await probe(path);
  const written = readFileSync(join(stateDir, "start-trial"), "utf8");
  forgetStart(stateDir);
  // As another process finds it.
  writeFileSync(join(stateDir, "start-trial"), written);
  expect(await probe(path)).toEqual(first);
  expect(starts()).toBe(1);
});

it.each([
  ["the doctor asks", {}, { thorough: true }],
  ["bubblewrap has changed", { script: `: changed; ${REAL}` }, {}],
  ["another user is taken", {}, { uidRange: { start: 1_800_000_000, count: 10 } }],
])("tries again when %s", async (_, { script = REAL }: { script?: string }, options) => {
  await probe(bubblewrapThat(REAL));
  const path = bubblewrapThat(script);
  if (script === REAL) await probe(path);
  const before = starts();
  expect((await probe(path, options)).available).toBe(true);
  // Only root takes users.
  const isTriedAgain = process.getuid?.() === 0 || !("uidRange" in options);
  expect(starts() - before).toBe(isTriedAgain ? 1 : 0);
});

it("tries as nobody who could do more than a sandbox's user", async () => {
  const path = bubblewrapThat(`id -u >${directory}/uid; ${REAL}`);
  writeFileSync(join(directory, "uid"), "");
  chmodSync(join(directory, "uid"), 0o666);
  await probe(path);
  const own = process.getuid?.();
  const expected = own === 0 ? DEFAULT_USER_RANGE.start + DEFAULT_USER_RANGE.count - 1 : own;
  expect(readFileSync(join(directory, "uid"), "utf8").trim()).toBe(String(expected));
});

requires("linux", "root", "bubblewrap").it.each([
  ["closed", 0o700],
  ["open", 0o711],
])("says of a state directory that belongs to another user, and is %s, whose it is", async (_, mode) => {
  const theirs = join(directory, "theirs");
  mkdirSync(theirs, { mode });
  chownSync(theirs, 65_534, 65_534);
  const found = await probe(bubblewrapThat(REAL), { stateDir: theirs });
  expect([found.available, found.code, found.problems[0]]).toEqual([
    false,
    "CONFIG_INVALID",
    {
      what: "The state directory belongs to another user (uid 65534)",
      remedy: expect.stringContaining("a directory of your own"),
    },
  ]);
});

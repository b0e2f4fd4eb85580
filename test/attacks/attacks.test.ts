import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { ATTACKS } from "./all.js";
import { type Context, hasSucceeded } from "./attack.js";
import { AttackRuns, describeTarget, selected, TEST_TIMEOUT_MS } from "./attack-cases.js";
import { findProcesses } from "./host.js";
import { USERS } from "./package-copy.js";

/** docker.test.ts, gvisor.test.ts and podman.test.ts attack the others that say they isolate. */
const BACKENDS = ["bubblewrap", "srt"] as const;

const { describe, it, missing } = requires("linux", "bubblewrap", "sandbox-runtime", "python3");
if (USERS.length === 1)
  console.warn("attacks run as this user only: both root and an ordinary user takes root");

let runs: AttackRuns;
const SELF_CHECK = "self-check";

// Several at once, since most attacks wait more than they work; every backend at once would be too much to wait for.
beforeAll(() => {
  runs = new AttackRuns();
  runs.begin(SELF_CHECK, USERS[0]!, { backend: "subprocess" });
}, TEST_TIMEOUT_MS);
afterAll(() => runs?.end(), TEST_TIMEOUT_MS);

const simulated = ATTACKS.filter((attack) => attack.simulated !== undefined);
const unchecked = ATTACKS.filter((attack) => attack.cannotSelfCheck !== undefined);
const checked = ATTACKS.filter(
  (attack) => attack.simulated === undefined && attack.cannotSelfCheck === undefined,
);

/** A test that cannot fail is worth nothing: without walls every attack must be seen to succeed. */
describe("without walls", () => {
  for (const attack of checked.filter(selected)) {
    it(
      `an attacker ${attack.name}`,
      async ({ skip }) => {
        const { verdict, detail } = await runs.verdictOf(SELF_CHECK, attack);
        if (verdict === "host lacks") skip(`this host lacks ${detail}`);
        // Only root can do everything that a sandbox must prevent.
        if (verdict === "blocked" && process.getuid?.() !== 0) skip("this user may not do it either");
        expect(verdict, detail).toBe("succeeded");
      },
      TEST_TIMEOUT_MS,
    );
  }

  for (const attack of simulated.filter(selected)) {
    it(`would notice that an attacker ${attack.name}`, () => {
      const context = { marker: "marker", facts: { word: runs.packageCopy.word } } as Context;
      expect(hasSucceeded(attack, attack.simulated!, context)).toBe(true);
    });
  }

  it("says why for each that it cannot check", () => {
    for (const { name, cannotSelfCheck } of unchecked)
      console.warn(`not self-checked: ${name}: ${cannotSelfCheck}`);
    expect(unchecked.length).toBeLessThan(ATTACKS.length / 10);
  });

  it("finds a process of the host by its command line", async () => {
    const mark = `1000.${Math.random().toString().slice(2, 14)}`;
    const child = spawn("sleep", [mark], { stdio: "ignore" });
    await once(child, "spawn");
    expect(findProcesses(mark)).toEqual([child.pid]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(findProcesses(mark)).toEqual([]);
  });

  it("has no two attacks of one name", () => {
    expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  });
});

for (const backend of missing.length === 0 ? BACKENDS : []) {
  describeTarget(
    backend,
    USERS,
    () => runs,
    () => ({ backend }),
  );
}

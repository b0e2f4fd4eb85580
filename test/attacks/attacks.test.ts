import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { SandboxManager } from "../../src/index.js";
import { requires } from "../setup/requires.js";
import { ATTACKS } from "./all.js";
import { type Context, hasSucceeded } from "./attack.js";
import { findProcesses } from "./host.js";
import type { Order, Verdict } from "./run.js";
import { Tree, USERS, type User } from "./tree.js";

/** Every backend that says it isolates; docker, gvisor and srt join as they come. */
const BACKENDS = ["bubblewrap"] as const;
const TEST_TIMEOUT_MS = 180_000;

const { describe, it } = requires("linux", "bubblewrap", "python3");
if (USERS.length === 1) console.warn("attacks run as this user only: both root and an ordinary user takes root");

let tree: Tree;
beforeAll(() => {
  tree = new Tree();
}, TEST_TIMEOUT_MS);
afterAll(() => tree?.remove());

/** The verdicts of one run, each as soon as it is there. */
function startRun(user: User, backend: string, purpose: string) {
  const place = tree.repo(user, purpose);
  const order: Order = { backend, stateDir: tree.stateDir(user), repo: place.repo, word: tree.word };
  const only = process.env.SKERRY_ATTACK;
  const child = tree.start("runner", user, { ...order, ...(only !== undefined && { only }) }, place);
  const waiting = new Map<string, (verdict: Verdict | undefined) => void>();
  const verdicts = new Map<string, Promise<Verdict | undefined>>();
  for (const { name } of ATTACKS) verdicts.set(name, new Promise((resolve) => waiting.set(name, resolve)));
  let complaints = "";
  child.stderr!.on("data", (chunk) => {
    complaints += chunk;
  });
  createInterface(child.stdout!).on("line", (line) => {
    const verdict = JSON.parse(line) as Verdict;
    waiting.get(verdict.name)?.(verdict);
  });
  const done = once(child, "close").then(([status]) => {
    for (const resolve of waiting.values()) resolve(undefined);
    return { status, complaints };
  });
  return { verdicts, done };
}

describe.each(BACKENDS)("against %s", (backend) => {
  describe.each(USERS)("run by $name, an attacker never", (user) => {
    let run: ReturnType<typeof startRun>;
    beforeAll(() => {
      run = startRun(user, backend, backend);
    }, TEST_TIMEOUT_MS);

    it.each(ATTACKS)(
      "$name",
      async ({ name }) => {
        const verdict = await run.verdicts.get(name);
        if (verdict === undefined) throw new Error(`the run ended before: ${(await run.done).complaints}`);
        if (verdict.verdict === "not claimed") return expect.soft(verdict.detail).toMatch(/claims no/);
        expect(verdict).toMatchObject({ verdict: "blocked" });
      },
      TEST_TIMEOUT_MS,
    );

    it("keeps the run itself from its end", async () => {
      expect(await run.done).toEqual({ status: 0, complaints: "" });
    }, TEST_TIMEOUT_MS);
  });
});

import { afterAll, beforeAll } from "vitest";
import { requires } from "../setup/requires.js";
import { AttackRuns, describeTarget, TEST_TIMEOUT_MS } from "./attack-cases.js";
import { USERS } from "./package-copy.js";

const { missing } = requires("linux", "bubblewrap", "python3");

let runs: AttackRuns;
beforeAll(() => {
  runs = new AttackRuns();
}, TEST_TIMEOUT_MS);
afterAll(() => runs?.end(), TEST_TIMEOUT_MS);

// Every program of the attacks in a cell; what they do with other means is done in a sandbox that makes cells.
if (missing.length === 0)
  describeTarget(
    "cells",
    USERS,
    () => runs,
    () => ({ backend: "bubblewrap", cells: true }),
  );

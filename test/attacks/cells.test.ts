import { afterAll, beforeAll } from "vitest";
import { requires } from "../setup/requires.js";
import { describeTarget, Siege, TEST_TIMEOUT_MS } from "./siege-cases.js";
import { USERS } from "./tree.js";

const { missing } = requires("linux", "bubblewrap", "python3");

let siege: Siege;
beforeAll(() => {
  siege = new Siege();
}, TEST_TIMEOUT_MS);
afterAll(() => siege?.end(), TEST_TIMEOUT_MS);

// Every program of the attacks in a cell; what they do with other means is done in a sandbox that makes cells.
if (missing.length === 0)
  describeTarget(
    "cells",
    USERS,
    () => siege,
    () => ({ backend: "bubblewrap", cells: true }),
  );

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { findHostFacts, probeHost } from "./host-facts.js";

function bubblewrapThat(script: string): string {
  const path = join(temporaryDirectory(), "bwrap");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

it.each([
  ["is too old", "echo bubblewrap 0.3.1", { what: "bubblewrap 0.3.1 is too old", available: false }],
  // A host where programs start slowly is no host with an old program.
  ["answers late", "exec sleep 60", { what: "bubblewrap does not tell its version", available: true }],
])("says of a bubblewrap that it %s", async (_, script, { what, available }) => {
  const facts = findHostFacts(bubblewrapThat(script));
  const probe = await probeHost(facts, { thorough: true }, 500);
  expect([probe.available, probe.problems.map((problem) => problem.what)]).toEqual([
    available,
    expect.arrayContaining([what]),
  ]);
});

// Runs those cases of the conformance suite whose title is like the first argument; one JSON line each.
import { loadConformanceSuite } from "../checkout/dist/core/testing/index.js";
import { report } from "./report.mjs";

const only = new RegExp(process.argv[2] ?? ".");
// A limit that this caller must have: a case that is skipped for it has failed.
const claimed = new RegExp(process.argv[3] ?? "(?!)");

for (const { title, skip, run } of await loadConformanceSuite({ name: "bubblewrap" })) {
  if (!only.test(title)) continue;
  if (skip !== undefined && claimed.test(title))
    await report(title, () => Promise.reject(new Error(`not enforced: ${skip}`)));
  else if (skip !== undefined) await report(title, undefined, skip);
  else await report(title, run);
}
process.exit();

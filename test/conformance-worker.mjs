// Runs a backend's conformance suite from the built package and prints the outcome of every test as JSON lines.
import { loadConformanceSuite } from "skerry/testing";

for (const { title, skip, run } of await loadConformanceSuite({ name: process.argv[2] })) {
  let error;
  if (skip === undefined) await run().catch((reason) => (error = String(reason?.stack ?? reason)));
  console.log(JSON.stringify({ title, skip, error }));
}

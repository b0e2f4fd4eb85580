/** Runs one case and prints what came of it, as the host reads it. */
export async function report(title, run, skip) {
  const startedAt = Date.now();
  let error;
  if (skip === undefined) await run().catch((reason) => (error = describe(reason)));
  console.log(JSON.stringify({ title, skip, error, seconds: Math.round((Date.now() - startedAt) / 1000) }));
}

/** Where an assertion failed; what a suite complains about itself needs no place. */
function describe(reason) {
  return reason?.code === "ERR_ASSERTION" ? reason.stack : String(reason);
}

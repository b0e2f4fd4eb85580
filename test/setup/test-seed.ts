/**
 * What tests draw at random comes from this number. It is always the same one, since what lands must not depend on luck;
 * `npm run test:explore` draws another one each time, and prints the one that repeats a failure.
 */
export const testSeed = readSeed();

function readSeed(): number {
  const given = process.env["SKERRY_TEST_SEED"] ?? "20261116";
  const seed = Number(given);
  if (!/^\d+$/.test(given) || seed >= 2 ** 31)
    throw new Error(`SKERRY_TEST_SEED has to be a whole number below 2147483648, and is ${given}`);
  return seed;
}

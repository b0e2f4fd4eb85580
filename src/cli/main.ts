import { stderr, stdout } from "./output.js";
import { createProgram, runProgram } from "./program.js";

async function main(): Promise<void> {
  const status = await runProgram(createProgram(), process.argv.slice(2));
  await Promise.all([stdout.flush(), stderr.flush()]);
  // Standard input may still be open: nothing waits for it any more.
  process.exit(status);
}

void main();

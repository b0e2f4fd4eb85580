import { systemCode } from "../kit/errors.js";
import { stderr, stdout } from "./output/index.js";
import { createProgram, runProgram } from "./program.js";

async function main(): Promise<void> {
  // A promise that never settles lets the process end by itself: that is no success.
  process.exitCode = 70;
  const status = await runProgram(createProgram(), process.argv.slice(2));
  await stdout.flush();
  if (stdout.failure !== undefined) {
    await stderr.write(
      `skerry: standard output cannot be written (${systemCode(stdout.failure) ?? "unknown"})\n`,
    );
  }
  await stderr.flush();
  // Standard input may still be open: nothing waits for it any more.
  process.exit(stdout.failure === undefined ? status : 74);
}

void main();

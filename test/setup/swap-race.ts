import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import { temporaryDirectory } from "./clean-up.js";

const SWAPPER = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(int argc, char **argv) {
  puts("ready"); fflush(stdout);
  alarm(60);
  for (;;) syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2 /* RENAME_EXCHANGE */);
}`;
export const RACE_MS = 2000;
export const MARKER = "OUTSIDE-MARKER";

let base: string;
/** False: there is no compiler here, and no race. */
export let canRace = false;
const swappers: ChildProcess[] = [];

/** The races of the file have a place of their own, which is gone at its end. */
export function useRaces(): void {
  beforeAll(() => {
    base = temporaryDirectory();
    try {
      writeFileSync(join(base, "swap.c"), SWAPPER);
      execFileSync("gcc", ["-O2", "-o", join(base, "swap"), join(base, "swap.c")], { stdio: "pipe" });
      canRace = true;
    } catch {
      console.log("skipped: the exchange race needs gcc");
    }
  });

  afterAll(() => {
    for (const swapper of swappers) swapper.kill("SIGKILL");
  });
}

/** Swaps root/dir (a directory) with root/other (a link to the outside) as fast as the kernel can. */
export async function startRace(name: string, beneath = "") {
  const root = join(base, name, "root");
  const outside = join(base, name, "outside");
  const dir = join(root, `${beneath}dir`);
  const other = join(root, `${beneath}other`);
  mkdirSync(join(dir, "sub"), { recursive: true });
  mkdirSync(join(outside, "sub"), { recursive: true });
  for (const path of ["file", "sub/file"]) {
    writeFileSync(join(dir, path), "inside");
    writeFileSync(join(outside, path), MARKER);
  }
  symlinkSync(outside, other);
  const swapper = spawn(join(base, "swap"), [dir, other], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  swappers.push(swapper);
  await new Promise((resolve) => swapper.stdout.once("data", resolve));
  const stop = () => {
    const exited = new Promise((resolve) => swapper.once("exit", resolve));
    swapper.kill("SIGKILL");
    return exited;
  };
  return { root, outside, stop };
}

/** Repeats the attempt for two seconds and counts what came of it: a value, or an error's code. */
export async function outcomes(attempt: (round: number) => Promise<string>): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const end = performance.now() + RACE_MS;
  for (let round = 0; performance.now() < end; round++) {
    const outcome = await attempt(round).catch((error) => String(error.code ?? error));
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (round % 100 === 0) await setImmediate();
  }
  return counts;
}

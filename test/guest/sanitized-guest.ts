import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, beforeEach, expect } from "vitest";
import { GuestConnection } from "../../src/runtime/wire/index.js";
import { temporaryDirectory } from "../setup/clean-up.js";

export const ROOT = join(import.meta.dirname, "../..");
export const SANITIZED = join(ROOT, "build/skerry-guest-sanitized");
/** What the sanitizers exit with when they find something; the guest itself never does. */
const FINDING = 99;
export const ENV = {
  ASAN_OPTIONS: `exitcode=${FINDING}:detect_leaks=0`,
  UBSAN_OPTIONS: `halt_on_error=1:exitcode=${FINDING}`,
};

export let directory: string;
export let guest: ChildProcess;
/** What the sanitizers said of it. */
export let complaints: Promise<string>;

/** Builds it for the file; every test has a directory of its own. */
export function useSanitizedGuest(): void {
  beforeAll(() => {
    execFileSync(join(ROOT, "guest/build.sh"), ["--sanitize"], { stdio: "inherit" });
  }, 180_000);

  beforeEach(() => {
    directory = temporaryDirectory();
  });
}

/** Starts it, with no more descriptors than this. */
export function start(descriptors?: number): void {
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  guest = spawn("/bin/sh", ["-c", `${limit}exec "$0"`, SANITIZED], {
    env: ENV,
    cwd: directory,
    stdio: ["pipe", "pipe", "pipe"],
  });
  guest.stdin!.on("error", () => undefined);
  complaints = text(guest.stderr!);
}

/** Runs the test against a guest built with sanitizers, and demands that they found nothing. */
export async function withGuest(
  test: (connection: GuestConnection) => Promise<void>,
  { descriptors }: { readonly descriptors?: number } = {},
): Promise<void> {
  start(descriptors);
  const connection = new GuestConnection({ fromGuest: guest.stdout!, toGuest: guest.stdin! });
  const exited = once(guest, "exit");
  try {
    await connection.ready;
    await test(connection);
  } finally {
    connection.close();
    await exited;
  }
  expect(await complaints).toBe("");
  expect(guest.exitCode).toBe(0);
}

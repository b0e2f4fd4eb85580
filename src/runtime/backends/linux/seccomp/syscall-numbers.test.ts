import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type SeccompArch, SYSCALL_NUMBERS } from "./syscall-numbers.js";

const generator = fileURLToPath(new URL("generate-syscall-numbers.mjs", import.meta.url));
const ARCHES: readonly SeccompArch[] = ["x64", "arm64"];

describe("the table of system call numbers", () => {
  it("agrees with the kernel headers of this machine", ({ skip }) => {
    const { status, stdout } = spawnSync(process.execPath, [generator, "--json"], { encoding: "utf8" });
    if (status !== 0) return skip("needs gcc, gcc-aarch64-linux-gnu and the kernel headers");
    const headers = JSON.parse(stdout) as typeof SYSCALL_NUMBERS;
    // Newer headers may name more, never fewer and never otherwise.
    const common = Object.fromEntries(Object.keys(SYSCALL_NUMBERS).map((name) => [name, headers[name]]));
    expect(common).toEqual(SYSCALL_NUMBERS);
  });

  it.each(ARCHES)("gives each number one name on %s", (arch) => {
    const numbers = Object.values(SYSCALL_NUMBERS).flatMap((row) => row[arch] ?? []);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("knows the numbers everyone knows", () => {
    expect(SYSCALL_NUMBERS.read).toEqual({ x64: 0, arm64: 63 });
    expect(SYSCALL_NUMBERS.open).toEqual({ x64: 2 });
    expect(SYSCALL_NUMBERS.clone3).toEqual({ x64: 435, arm64: 435 });
  });
});

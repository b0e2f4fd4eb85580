import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../../config/package-root.js";
import { systemCode } from "../../../errors.js";

/** Where the build puts the compiled profile: compiling takes longer than starting a sandbox. */
export function filterPath(arch: string): string {
  return join(PACKAGE_ROOT, "dist", "seccomp", `${arch}.bpf`);
}

/** The profile as the kernel takes it, for this machine or another architecture. */
export async function loadSeccompFilter(arch: string = process.arch): Promise<Buffer> {
  try {
    return readFileSync(filterPath(arch));
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  const [{ compileSeccomp }, { PROFILE }] = await Promise.all([
    import("./compile.js"),
    import("./profile.js"),
  ]);
  return compileSeccomp(PROFILE, arch as "x64" | "arm64");
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../../../../kit/errors.js";
import { PACKAGE_ROOT } from "../../../../kit/package-root.js";
import type { ProfileName } from "./profiles.js";

/** Where the build puts a compiled profile: compiling takes longer than starting a sandbox. */
export function filterPath(arch: string, name: ProfileName = "sandbox"): string {
  return join(PACKAGE_ROOT, "dist", "seccomp", `${name}-${arch}.bpf`);
}

/** A profile as the kernel takes it, for this machine or another architecture. */
export async function loadSeccompFilter(
  arch: string = process.arch,
  name: ProfileName = "sandbox",
): Promise<Buffer> {
  try {
    return readFileSync(filterPath(arch, name));
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  const [{ compileSeccomp }, { PROFILES }] = await Promise.all([
    import("./compile.js"),
    import("./profiles.js"),
  ]);
  return compileSeccomp(PROFILES[name], arch as "x64" | "arm64");
}

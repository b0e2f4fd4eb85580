import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { SandboxError } from "../../../kit/errors.js";
import { PACKAGE_ROOT } from "../../../kit/package-root.js";
import type { GlobalOptions } from "../../definition/index.js";

/** `skerry bench`: hands over to the benchmark, which is not part of the published package. */
export async function bench(
  names: readonly string[],
  options: GlobalOptions & { readonly json?: boolean },
): Promise<number> {
  const main = join(PACKAGE_ROOT, "dist-bench/bench/main.js");
  if (!existsSync(main)) {
    throw new SandboxError("UNSUPPORTED", "the benchmark is not built here", {
      hint: "It is part of the repository, not of the package: clone it and run ./skerry bench there.",
    });
  }
  const child = spawn(process.execPath, [main, ...names, ...(options.json ? ["--json"] : [])], {
    stdio: "inherit",
  });
  // The child is in our process group: Ctrl-C reaches it by itself, and we report how it ended.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  const forward = () => child.kill("SIGTERM");
  process.on("SIGTERM", forward);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

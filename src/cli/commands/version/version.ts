import { packageVersion } from "../../../kit/package-root.js";
import type { GlobalOptions } from "../../definition/index.js";
import { formatTable, jsonText, stdout } from "../../output/index.js";

/** `skerry version`. */
export async function version({ json }: GlobalOptions & { readonly json?: boolean }): Promise<number> {
  const { platform, arch, versions } = process;
  const told = { skerry: packageVersion(), node: versions.node, system: platform, architecture: arch };
  await stdout.write(json ? `${jsonText(told)}\n` : formatTable(Object.entries(told)));
  return 0;
}

import { SandboxError } from "../../kit/errors.js";
import { parseRelativePath } from "../workspace/index.js";

/** A directory of this host that is to be in a sandbox. */
export interface MountRequest {
  readonly source: string;
  /** Where in the workspace; left out: the workspace itself. */
  readonly target?: string;
  /** `copy`, the only one: a snapshot goes in, and what changed is applied by itself. */
  readonly mode?: "copy";
}

/** The place in the workspace that a mount names; "" is the workspace itself. */
export function parseTarget(target: string | undefined): string {
  const path = (target ?? "").replace(/^\/workspace(?:\/|$)/, "");
  return path === "" ? "" : parseRelativePath(path).text;
}

/** Checks what a caller passed. */
export function parseMounts(mounts: unknown): readonly (MountRequest & { readonly target: string })[] {
  if (!Array.isArray(mounts)) throw wrong("mounts is a list");
  const parsed = mounts.map((mount: unknown) => {
    const { source, target, mode = "copy", ...rest } = (mount ?? {}) as Record<string, unknown>;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw wrong(`A mount has no ${JSON.stringify(unknown)}`);
    if (typeof source !== "string" || source === "") throw wrong("A mount names its source directory");
    if (target !== undefined && typeof target !== "string") throw wrong("The target of a mount is a path");
    if (mode !== "copy") {
      throw new SandboxError("UNSUPPORTED", `Mounts are copies: there is no mode ${JSON.stringify(mode)}`, {
        hint: "Leave the mode out, and bring changes back with apply.",
      });
    }
    return { source, target: parseTarget(target) };
  });
  refuseOverlap(parsed.map(({ target }) => target));
  return parsed;
}

/** Two projects in one place could not be told apart. */
export function refuseOverlap(targets: readonly string[]): void {
  const within = (one: string, other: string) => other === "" || one === other || one.startsWith(`${other}/`);
  const overlapping = targets.find((one, at) =>
    targets.some((other, index) => index !== at && within(one, other)),
  );
  if (overlapping === undefined) return;
  throw wrong(`Two mounts are in one place of the workspace: ${JSON.stringify(overlapping)}`);
}

function wrong(message: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, {
    hint: 'For example [{ source: ".", target: "project" }].',
  });
}

import type { Paint } from "../../../guard/confirmation/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { count } from "../../../kit/format-quantity.js";
import type { Check } from "../../../server/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { askServer } from "../../open/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";
import { readLocalStatus } from "./local-status.js";

export interface StatusOptions extends GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly local?: boolean;
  readonly json?: boolean;
}

/** The exit status when something needs attention. */
const ATTENTION = 1;
const WIDTH = 12;

/** What this command reads of a status. The sender is a server that the user named. */
interface ShownStatus {
  readonly ok: boolean;
  readonly version: string;
  readonly checks: readonly Check[];
  readonly figures: {
    readonly recent: { readonly deniedHosts: readonly { readonly host: string; readonly count: number }[] };
  };
}

/** `skerry status`: the run-time checklist of a server, or with --local of this user's own state directory. */
export async function status(options: StatusOptions): Promise<number> {
  const told = options.local === true ? await readLocalStatus(options) : await askForStatus(options);
  const paint = paintFor(stdout, options.color);
  await stdout.write(
    options.json ? `${jsonText(told)}\n` : describeChecks(told.checks, hostsOf(told), paint),
  );
  return told.ok ? 0 : ATTENTION;
}

async function askForStatus(options: StatusOptions): Promise<ShownStatus> {
  const { body } = await askServer(options, "GET", "/v1/status");
  const { ok, checks } = (body ?? {}) as Partial<ShownStatus>;
  if (typeof ok === "boolean" && Array.isArray(checks)) return body as ShownStatus;
  throw new SandboxError("SERVER_UNREACHABLE", "The server has no status", {
    hint: "Check SKERRY_URL or --url, and that the server has the same version.",
  });
}

function hostsOf(
  told: Pick<ShownStatus, "checks"> | ShownStatus,
): ShownStatus["figures"]["recent"]["deniedHosts"] {
  return "figures" in told ? (told.figures?.recent?.deniedHosts ?? []) : [];
}

/** One line for each check, and what to do below those that need it. All text in it is another process's. */
export function describeChecks(
  checks: readonly Check[],
  deniedHosts: readonly { readonly host: string; readonly count: number }[],
  paint: Paint,
): string {
  const lines = checks.map(({ name, ok, found, todo }) => {
    const mark = ok ? paint("green", "ok       ") : paint("yellow", "attention");
    const hosts = deniedHosts.map(({ host, count: times }) => `${escapeUnsafe(host)} ${times}`).join(", ");
    return [
      `${mark}  ${escapeUnsafe(name).padEnd(WIDTH)}${escapeUnsafe(found)}`,
      ...(name === "network" && hosts !== "" ? [`denied most: ${hosts}`] : []),
      ...(todo === undefined ? [] : [paint("yellow", escapeUnsafe(todo))]),
    ].join(`\n${" ".repeat(11 + WIDTH)}`);
  });
  const open = checks.filter(({ ok }) => !ok).length;
  const verdict =
    open === 0
      ? paint("green", "all in order")
      : paint("yellow", `${count(open, "line needs", "lines need")} attention`);
  return `${lines.join("\n")}\n${verdict}\n`;
}

import { SandboxError } from "../../errors.js";
import { visible } from "../../visible.js";
import { paintFor } from "../colour.js";
import { jsonText } from "../json-text.js";
import { openManager } from "../open-sandbox.js";
import type { GlobalOptions } from "../options.js";
import { stdout } from "../output.js";
import { formatTable } from "../table.js";

/** `skerry sessions ls`. */
export async function list(options: GlobalOptions & { readonly json?: boolean }): Promise<number> {
  await using manager = await openManager(options);
  const sessions = [...(await manager.listSessions())].sort(
    (a, b) => Number(b.lastUsedAt) - Number(a.lastUsedAt),
  );
  if (options.json) {
    const plain = sessions.map(({ key, createdAt, lastUsedAt, running }) => ({
      name: key,
      createdAt,
      lastUsedAt,
      running,
    }));
    await stdout.write(`${jsonText(plain)}\n`);
  } else if (stdout.isTerminal) {
    const paint = paintFor(stdout, options.color);
    const header = ["NAME", "CREATED", "LAST USED", "STATE"].map((title) => paint("bold", title));
    const rows = sessions.map(({ key, createdAt, lastUsedAt, running }) => [
      visible(key),
      moment(createdAt),
      moment(lastUsedAt),
      running ? paint("green", "running") : "stopped",
    ]);
    await stdout.write(rows.length === 0 ? "no sessions\n" : formatTable([header, ...rows]));
  } else {
    await stdout.write(sessions.map(({ key }) => `${key}\n`).join(""));
  }
  return 0;
}

/** `skerry sessions rm`: all that exist, then an error for the first that did not. */
export async function remove(names: readonly string[], options: GlobalOptions): Promise<number> {
  await using manager = await openManager(options);
  const missing: string[] = [];
  for (const name of names) if (!(await manager.deleteSession(name))) missing.push(name);
  if (missing.length === 0) return 0;
  throw new SandboxError(
    "SESSION_NOT_FOUND",
    `there is no session ${missing.map((name) => JSON.stringify(name)).join(", ")}`,
    {
      hint: "List them with: skerry sessions",
    },
  );
}

function moment(date: Date): string {
  return date.toISOString().slice(0, 16).replace("T", " ");
}

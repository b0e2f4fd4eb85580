import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import type { GlobalOptions } from "../../definition/index.js";
import { createManager, readConfig, serversSessions } from "../../open/index.js";
import { formatTable, jsonText, paintFor, stdout } from "../../output/index.js";

export interface SessionsOptions extends GlobalOptions {
  readonly json?: boolean;
}

/** `skerry sessions ls`. Whether those of a running server run is that server's to say. */
export async function list(options: SessionsOptions): Promise<number> {
  const config = await readConfig(options);
  await using manager = await createManager(config, {});
  const isServers = serversSessions(stateDirectoryOf(config.sandbox));
  const sessions = [...(await manager.listSessions())].sort(
    (a, b) => Number(b.lastUsedAt) - Number(a.lastUsedAt),
  );
  if (options.json) {
    const plain = sessions.map(({ sessionId, createdAt, lastUsedAt, running }) => ({
      sessionId,
      createdAt,
      lastUsedAt,
      running,
      ...(isServers(sessionId) && { server: true }),
    }));
    await stdout.write(`${jsonText(plain)}\n`);
  } else if (stdout.isTerminal) {
    const paint = paintFor(stdout, options.color);
    const header = ["NAME", "CREATED", "LAST USED", "STATE"].map((title) => paint("bold", title));
    const rows = sessions.map(({ sessionId, createdAt, lastUsedAt, running }) => [
      escapeUnsafe(sessionId),
      moment(createdAt),
      moment(lastUsedAt),
      running ? paint("green", "running") : isServers(sessionId) ? "the server's" : "stopped",
    ]);
    await stdout.write(rows.length === 0 ? "no sessions\n" : formatTable([header, ...rows]));
  } else {
    await stdout.write(sessions.map(({ sessionId }) => `${sessionId}\n`).join(""));
  }
  return 0;
}

/** `skerry sessions rm`: all that exist, then an error for those that did not. None where one is a running server's. */
export async function remove(names: readonly string[], options: SessionsOptions): Promise<number> {
  const config = await readConfig(options);
  await using manager = await createManager(config, {});
  const isServers = serversSessions(stateDirectoryOf(config.sandbox));
  const servers = names.filter((name) => isServers(name) && manager.hasSession(name));
  if (servers.length > 0) {
    throw new SandboxError("CONFLICT", `a running server has session ${quoted(servers)}`, {
      hint: "Use DELETE /v1/sessions/{sessionId} of the server, or stop it first.",
    });
  }
  const deleted: string[] = [];
  for (const name of names) if (await manager.deleteSession(name)) deleted.push(name);
  const missing = names.filter((name) => !deleted.includes(name));
  if (missing.length > 0) {
    throw new SandboxError("SESSION_NOT_FOUND", `there is no session ${quoted(missing)}`, {
      hint: "List them with: skerry sessions",
    });
  }
  if (options.json) await stdout.write(`${jsonText(deleted)}\n`);
  return 0;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}

function moment(date: Date): string {
  return date.toISOString().slice(0, 16).replace("T", " ");
}

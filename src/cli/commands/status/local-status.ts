import type { Config } from "../../../core/config/index.js";
import type { AuditTail } from "../../../guard/audit/index.js";
import { toSandboxError } from "../../../kit/errors.js";
import { ago, bytes, count } from "../../../kit/format-quantity.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import { diskSpace, isDiskLow } from "../../../runtime/workspace/index.js";
import type { Check } from "../../../server/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { auditDirectory, createManager, readConfig, serversSessions } from "../../open/index.js";

const MAKE_ROOM =
  "Make room: skerry sessions rm, DELETE /v1/sessions/{sessionId} for those of a running server, or sandbox.audit.keepFiles.";

/** What can be seen without a server. */
export async function readLocalStatus(options: GlobalOptions): Promise<{ ok: boolean; checks: Check[] }> {
  const config = await readConfig(options);
  const checks = [
    await checkPools(config),
    await checkLog(config),
    await checkSessions(config),
    await checkDisk(config),
  ];
  return { ok: checks.every(({ ok }) => ok), checks };
}

async function checkPools(config: Config): Promise<Check> {
  const { listPools } = await import("../../../runtime/pool/index.js");
  const pools = await listPools(stateDirectoryOf(config.sandbox));
  const silent = pools.filter((pool) => !("status" in pool)).length;
  const failing = pools.filter((pool) => "status" in pool && pool.status.nextAttemptAt !== undefined).length;
  const found = `${count(pools.length, "pool", "pools")} of this user's processes, ${failing} that cannot make sandboxes, ${silent} that do not answer`;
  const todo = silent + failing > 0 ? "See skerry pool status." : undefined;
  return line("pool", "sandboxes that are kept ready work", found, todo);
}

async function checkLog(config: Config): Promise<Check> {
  const what = "every attempt is recorded";
  if (!config.sandbox.audit.enabled)
    return line("audit", what, "there is no audit log", "Set sandbox.audit.enabled to true.");
  const [{ checkAuditTail }, { openAudit }] = await Promise.all([
    import("../../../guard/audit/index.js"),
    import("../../open/index.js"),
  ]);
  try {
    // As every command does before it runs something.
    const audit = await openAudit(config);
    await audit?.open();
    await audit?.close();
    const tail = await checkAuditTail(auditDirectory(config));
    const problem = tail.problem === undefined ? undefined : "Run skerry audit verify.";
    return line("audit", what, `can be written; ${describeTail(tail)}`, problem);
  } catch (error) {
    const { code, message } = toSandboxError(error);
    return line("audit", what, `${message} (${code})`, "Nothing runs until it can be written.");
  }
}

function describeTail({ last, files, bytes: size, problem, checked }: AuditTail): string {
  if (last === undefined) return "no record yet";
  const when = ago(new Date(), new Date(last.timestamp));
  return `last record ${last.seq}, ${when}; ${bytes(size)} in ${count(files, "file", "files")}; ${problem ?? `the last ${checked} are whole`}`;
}

async function checkSessions(config: Config): Promise<Check> {
  await using manager = await createManager(config, {});
  const sessions = await manager.listSessions();
  const isServers = serversSessions(stateDirectoryOf(config.sandbox));
  const running = sessions.filter((session) => session.running).length;
  const servers = sessions.filter(({ sessionId }) => isServers(sessionId)).length;
  const others =
    servers === 0 ? "" : `; ${servers} of the server that runs here, which knows whether they run`;
  const found = `${count(sessions.length, "session", "sessions")} with files here, ${running} running${others}`;
  return line("sessions", "sessions that are kept", found, undefined);
}

async function checkDisk(config: Config): Promise<Check> {
  const space = await diskSpace(stateDirectoryOf(config.sandbox));
  const found = `${bytes(space.freeBytes)} of ${bytes(space.totalBytes)} free`;
  const todo = isDiskLow(space) ? MAKE_ROOM : undefined;
  return line("disk", "there is room on the disk", found, todo);
}

function line(name: string, what: string, found: string, todo: string | undefined): Check {
  return { name, what, ok: todo === undefined, found, ...(todo !== undefined && { todo }) };
}

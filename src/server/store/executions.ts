import type { Database, Row, Statements, Value } from "./database.js";
import { readPage } from "./paging.js";
import type { ExecutionListRequest, ExecutionNote, ExecutionRecord, Page } from "./records.js";
import { deleteInBatches, fromRow, type Members, toText } from "./rows.js";

/** What runs and what has run. */
export class Executions {
  constructor(private readonly database: Database) {}

  /** Writes them down, all or none. An end is written to what runs, once: what has ended or was interrupted stays so. */
  async record(executions: readonly ExecutionNote[]): Promise<void> {
    const [first, ...others] = executions;
    if (first === undefined) return;
    // One statement is all or none by itself.
    if (others.length === 0) return write(this.database, first);
    await this.database.transaction(async (statements) => {
      for (const execution of executions) await write(statements, execution);
    });
  }

  async get(org: string, id: string): Promise<ExecutionRecord | undefined> {
    const sql = "SELECT * FROM executions WHERE org = ? AND id = ?";
    const [row] = await this.database.query(sql, [org, id]);
    return row && toExecution(row);
  }

  list(org: string, request: ExecutionListRequest = {}): Promise<Page<ExecutionRecord>> {
    const listing = {
      table: "executions",
      equal: { org, session: request.session, state: request.state },
      order: { started_at: "number", id: "string" },
    } as const;
    return readPage(this.database, listing, request, toExecution);
  }

  /** This server's running ones become `interrupted`, and are returned. For a start, before new work. */
  interruptAllOf(server: string): Promise<readonly ExecutionRecord[]> {
    return interruptExecutions(this.database, { where: "server = ?", parameters: [server] });
  }

  /** Forgets what began before a moment, and all but the latest `keep` of each org. What runs stays. */
  async prune({ before, keep }: { before?: number; keep?: number }): Promise<number> {
    let count = before === undefined ? 0 : await this.#forget("started_at < ?", [before]);
    if (keep === undefined) return count;
    const orgs = await this.database.query<{ org: string }>(
      "SELECT org FROM executions GROUP BY org HAVING COUNT(*) > ?",
      [keep],
    );
    for (const { org } of orgs) {
      const [first] = await this.database.query<{ started_at: number; id: string }>(
        "SELECT started_at, id FROM executions WHERE org = ? ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?",
        [org, keep],
      );
      if (first === undefined) continue;
      const parameters = [org, first.started_at, first.id];
      count += await this.#forget("org = ? AND (started_at, id) <= (?, ?)", parameters);
    }
    return count;
  }

  #forget(where: string, parameters: readonly Value[]): Promise<number> {
    const condition = { where: `state <> 'running' AND ${where}`, parameters };
    return deleteInBatches(this.database, "executions", "org, id", condition);
  }
}

async function write(statements: Statements, execution: ExecutionNote): Promise<void> {
  const { org, id, session, server, tool, startedAt, end } = execution;
  await statements.run(
    `INSERT INTO executions (org, id, session, server, tool, state, started_at, ended_at, result)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (org, id) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at, result = excluded.result
       WHERE executions.state = 'running'`,
    [
      ...[org, id, session ?? null, server, tool],
      ...(end === undefined ? ["running", startedAt, null] : ["done", startedAt, end.at]),
      toText(end?.result ?? null),
    ],
  );
}

/** The server that ran these is gone. */
export async function interruptExecutions(
  statements: Statements,
  { where, parameters }: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<ExecutionRecord[]> {
  const rows = await statements.query(
    `UPDATE executions SET state = 'interrupted', ended_at = ? WHERE state = 'running' AND ${where} RETURNING *`,
    [Date.now(), ...parameters],
  );
  return rows.map(toExecution);
}

const MEMBERS: Members<ExecutionRecord> = {
  id: "plain",
  org: "plain",
  session: "plain",
  server: "plain",
  tool: "plain",
  state: "plain",
  startedAt: "plain",
  endedAt: "plain",
  result: "json",
};

function toExecution(row: Row): ExecutionRecord {
  return fromRow(row, MEMBERS);
}

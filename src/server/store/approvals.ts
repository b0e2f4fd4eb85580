import type { Database, Row, Statements, Value } from "./database.js";
import { nameTaken } from "./failures.js";
import { deleteInBatches, fromText, inParts, toList, toText } from "./rows.js";
import type {
  ApprovalDecision,
  ApprovalRecord,
  ApprovalState,
  Approvals,
  NewApproval,
  NewDecision,
} from "./store.js";

const MAX_LISTED = 1000;
/** Characters: programs, not what they are called. */
const LONG_REQUEST = 4096;
const MAX_STATES = 10_000;
const IDS_AT_ONCE = 256;
/** These decisions are accepted after `expiresAt` too: no person gave them. */
const WITHOUT_ANSWER: readonly ApprovalDecision[] = ["expired", "cancelled", "interrupted"];

interface ApprovalRow extends Row {
  readonly org: string;
  readonly id: string;
  readonly session: string | null;
  readonly server: string;
  readonly request: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly decision: ApprovalDecision | null;
  readonly decided_by: string | null;
  readonly answer: string | null;
  readonly decided_at: number | null;
}

interface StateRow extends Row {
  readonly id: string;
  readonly created_at: number;
  readonly decided: number;
}

/** What people are asked, and the one decision about each. */
export class StoredApprovals implements Approvals {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(org: string, { id, session, server, request, expiresAt }: NewApproval): Promise<ApprovalRecord> {
    const [row] = await this.#database.query<ApprovalRow>(
      `INSERT INTO approvals (org, id, session, server, request, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING *`,
      [org, id, session ?? null, server, toText(request), Date.now(), expiresAt],
    );
    if (row === undefined) throw nameTaken();
    return toApproval(row);
  }

  async decide(
    org: string,
    id: string,
    decision: NewDecision,
  ): Promise<{ accepted: boolean; approval: ApprovalRecord } | undefined> {
    const now = Date.now();
    const inTime = WITHOUT_ANSWER.includes(decision.decision)
      ? { where: "org = ? AND id = ?", parameters: [org, id] }
      : { where: "org = ? AND id = ? AND expires_at > ?", parameters: [org, id, now] };
    const [decided] = await settle(this.#database, decision, now, inTime);
    if (decided !== undefined) return { accepted: true, approval: decided };
    const tooLate = { where: "org = ? AND id = ? AND expires_at <= ?", parameters: [org, id, now] };
    const [expired] = await settle(this.#database, { decision: "expired" }, now, tooLate);
    const approval = expired ?? (await this.get(org, id));
    return approval && { accepted: false, approval };
  }

  async get(org: string, id: string): Promise<ApprovalRecord | undefined> {
    const sql = "SELECT * FROM approvals WHERE org = ? AND id = ?";
    const [row] = await this.#database.query<ApprovalRow>(sql, [org, id]);
    return row && toApproval(row);
  }

  async forgetRequests(before: number): Promise<number> {
    return this.#database.run(
      `UPDATE approvals SET request = '{}' WHERE decided_at < ? AND length(request) > ${LONG_REQUEST}`,
      [before],
    );
  }

  async listPending(org: string): Promise<readonly ApprovalRecord[]> {
    const rows = await this.#database.query<ApprovalRow>(
      `SELECT * FROM approvals WHERE org = ? AND decision IS NULL AND expires_at > ?
       ORDER BY created_at, id LIMIT ${MAX_LISTED}`,
      [org, Date.now()],
    );
    return rows.map(toApproval);
  }

  async listStates(
    org: string,
    { expiringAfter, ids }: { expiringAfter: number; ids: readonly string[] },
  ): Promise<readonly ApprovalState[]> {
    const columns =
      "SELECT id, created_at, CASE WHEN decision IS NULL THEN 0 ELSE 1 END AS decided FROM approvals";
    const found = await this.#database.query<StateRow>(
      `${columns} WHERE org = ? AND expires_at > ? ORDER BY created_at DESC, id DESC LIMIT ${MAX_STATES}`,
      [org, expiringAfter],
    );
    const known = new Set(found.map(({ id }) => id));
    const others = ids.filter((id) => !known.has(id));
    for (const part of inParts(others, IDS_AT_ONCE)) {
      const { sql, values } = toList(part);
      found.push(
        ...(await this.#database.query<StateRow>(`${columns} WHERE org = ? AND id IN ${sql}`, [
          org,
          ...values,
        ])),
      );
    }
    return found.sort(byAge).map(({ id, decided }) => ({ id, isDecided: decided === 1 }));
  }

  async getAll(org: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]> {
    const found: ApprovalRow[] = [];
    for (const part of inParts(ids, IDS_AT_ONCE)) {
      const { sql, values } = toList(part);
      const select = `SELECT * FROM approvals WHERE org = ? AND id IN ${sql}`;
      found.push(...(await this.#database.query<ApprovalRow>(select, [org, ...values])));
    }
    return found.sort(byAge).map(toApproval);
  }

  async listDecided(server: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]> {
    const found: ApprovalRow[] = [];
    for (const part of inParts(ids, IDS_AT_ONCE)) {
      const { sql, values } = toList(part);
      const rows = await this.#database.query<ApprovalRow>(
        `SELECT * FROM approvals WHERE server = ? AND decision IS NOT NULL AND id IN ${sql} ORDER BY decided_at, id`,
        [server, ...values],
      );
      found.push(...rows);
    }
    return found.map(toApproval);
  }

  async listUndecidedOf(server: string): Promise<readonly ApprovalRecord[]> {
    const rows = await this.#database.query<ApprovalRow>(
      "SELECT * FROM approvals WHERE server = ? AND decision IS NULL",
      [server],
    );
    return rows.sort(byAge).map(toApproval);
  }

  rejectAllOf(server: string): Promise<readonly ApprovalRecord[]> {
    return interruptApprovals(this.#database, { where: "server = ?", parameters: [server] });
  }

  prune(before: number): Promise<number> {
    return deleteInBatches(this.#database, "approvals", "org, id", {
      where: "expires_at < ?",
      parameters: [before],
    });
  }
}

/** The calls that waited for these are gone, so they can no longer be decided. */
export function interruptApprovals(
  statements: Statements,
  condition: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<ApprovalRecord[]> {
  return settle(statements, { decision: "interrupted" }, Date.now(), condition);
}

/** One statement, so that of two decisions one comes first. */
async function settle(
  statements: Statements,
  { decision, by, answer }: NewDecision,
  now: number,
  { where, parameters }: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<ApprovalRecord[]> {
  const rows = await statements.query<ApprovalRow>(
    `UPDATE approvals SET decision = ?, decided_by = ?, answer = ?, decided_at = ?
     WHERE decision IS NULL AND ${where} RETURNING *`,
    [decision, by ?? null, toText(answer), now, ...parameters],
  );
  return rows.map(toApproval);
}

type Aged = { readonly created_at: number; readonly id: string };

function byAge(a: Aged, b: Aged): number {
  return a.created_at - b.created_at || (a.id < b.id ? -1 : 1);
}

function toApproval(row: ApprovalRow): ApprovalRecord {
  return {
    id: row.id,
    org: row.org,
    session: row.session ?? undefined,
    server: row.server,
    request: fromText(row.request),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    outcome:
      row.decision === null
        ? undefined
        : {
            decision: row.decision,
            by: row.decided_by ?? undefined,
            answer: fromText(row.answer ?? "null"),
            at: row.decided_at ?? 0,
          },
  };
}

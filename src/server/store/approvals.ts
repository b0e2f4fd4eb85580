import type { Database, Row, Statements, Value } from "./database.js";
import { nameTaken } from "./failures.js";
import type {
  ApprovalDecision,
  ApprovalOutcome,
  ApprovalRecord,
  ApprovalState,
  NewApproval,
  NewDecision,
} from "./records.js";
import { deleteInBatches, fromRow, inParts, type Members, toList, toText } from "./rows.js";

const MAX_LISTED = 1000;
/** Characters: programs, not what they are called. */
const LONG_REQUEST = 4096;
const MAX_STATES = 10_000;
const IDS_AT_ONCE = 256;
/** These decisions are accepted after `expiresAt` too: no person gave them. */
const WITHOUT_ANSWER: readonly ApprovalDecision[] = ["expired", "cancelled", "interrupted"];

interface StateRow extends Row {
  readonly id: string;
  readonly createdAt: number;
  readonly decided: number;
}

/** What people are asked, and the one decision about each. */
export class Approvals {
  constructor(private readonly database: Database) {}

  async add(org: string, { id, session, server, request, expiresAt }: NewApproval): Promise<ApprovalRecord> {
    const [row] = await this.database.query(
      `INSERT INTO approvals (org, id, session, server, request, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING *`,
      [org, id, session ?? null, server, toText(request), Date.now(), expiresAt],
    );
    if (row === undefined) throw nameTaken();
    return toApproval(row);
  }

  /**
   * The first decision counts, and `accepted` says whether it was this one; the record has the one that counts. What
   * comes after `expiresAt` finds it expired. Undefined: there is no such request.
   */
  async decide(
    org: string,
    id: string,
    decision: NewDecision,
  ): Promise<{ accepted: boolean; approval: ApprovalRecord } | undefined> {
    const now = Date.now();
    const inTime = WITHOUT_ANSWER.includes(decision.decision)
      ? { where: "org = ? AND id = ?", parameters: [org, id] }
      : { where: "org = ? AND id = ? AND expires_at > ?", parameters: [org, id, now] };
    const [decided] = await settle(this.database, decision, now, inTime);
    if (decided !== undefined) return { accepted: true, approval: decided };
    const tooLate = { where: "org = ? AND id = ? AND expires_at <= ?", parameters: [org, id, now] };
    const [expired] = await settle(this.database, { decision: "expired" }, now, tooLate);
    const approval = expired ?? (await this.get(org, id));
    return approval && { accepted: false, approval };
  }

  async get(org: string, id: string): Promise<ApprovalRecord | undefined> {
    const sql = "SELECT * FROM approvals WHERE org = ? AND id = ?";
    const [row] = await this.database.query(sql, [org, id]);
    return row && toApproval(row);
  }

  /** Forgets what was asked, where it is long and was decided before that time: the record of it is the audit log's. */
  async forgetRequests(before: number): Promise<number> {
    return this.database.run(
      `UPDATE approvals SET request = '{}' WHERE decided_at < ? AND length(request) > ${LONG_REQUEST}`,
      [before],
    );
  }

  /** Pending and not expired, the oldest first, at most 1000. */
  async listPending(org: string): Promise<readonly ApprovalRecord[]> {
    const rows = await this.database.query(
      `SELECT * FROM approvals WHERE org = ? AND decision IS NULL AND expires_at > ?
       ORDER BY created_at, id LIMIT ${MAX_LISTED}`,
      [org, Date.now()],
    );
    return rows.map(toApproval);
  }

  /**
   * Of an org, whichever server asks: what expires after a moment, the latest 10,000, and those of these ids that there
   * are. The oldest first.
   */
  async listStates(
    org: string,
    { expiringAfter, ids }: { expiringAfter: number; ids: readonly string[] },
  ): Promise<readonly ApprovalState[]> {
    const columns =
      'SELECT id, created_at AS "createdAt", CASE WHEN decision IS NULL THEN 0 ELSE 1 END AS decided FROM approvals';
    const found = await this.database.query<StateRow>(
      `${columns} WHERE org = ? AND expires_at > ? ORDER BY created_at DESC, id DESC LIMIT ${MAX_STATES}`,
      [org, expiringAfter],
    );
    const known = new Set(found.map(({ id }) => id));
    const others = ids.filter((id) => !known.has(id));
    found.push(...(await this.#queryByIds<StateRow>(`${columns} WHERE org = ?`, org, others)));
    return found.sort(byAge).map(({ id, decided }) => ({ id, isDecided: decided === 1 }));
  }

  /** Those of these ids that there are, the oldest first. */
  async getAll(org: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]> {
    const found = await this.#queryByIds("SELECT * FROM approvals WHERE org = ?", org, ids);
    return found.map(toApproval).sort(byAge);
  }

  /** What was decided of those of this server's, wherever it was decided: for the calls that wait. */
  async listDecided(server: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]> {
    const sql = "SELECT * FROM approvals WHERE server = ? AND decision IS NOT NULL";
    return (await this.#queryByIds(sql, server, ids, "ORDER BY decided_at, id")).map(toApproval);
  }

  /** This server's undecided ones, of all orgs, the oldest first. */
  async listUndecidedOf(server: string): Promise<readonly ApprovalRecord[]> {
    const rows = await this.database.query("SELECT * FROM approvals WHERE server = ? AND decision IS NULL", [
      server,
    ]);
    return rows.map(toApproval).sort(byAge);
  }

  /** This server's pending ones become `interrupted`, and are returned. For a start, before new work. */
  rejectAllOf(server: string): Promise<readonly ApprovalRecord[]> {
    return interruptApprovals(this.database, { where: "server = ?", parameters: [server] });
  }

  /** Forgets what was decided or has expired before that moment. Resolves to how many. */
  prune(before: number): Promise<number> {
    return deleteInBatches(this.database, "approvals", "org, id", {
      where: "expires_at < ?",
      parameters: [before],
    });
  }

  /** The rows of a statement about an owner that have one of these ids. */
  async #queryByIds<Result extends object = Row>(
    sql: string,
    owner: string,
    ids: readonly string[],
    order = "",
  ): Promise<Result[]> {
    const found: Result[] = [];
    for (const part of inParts(ids, IDS_AT_ONCE)) {
      const list = toList(part);
      const parameters = [owner, ...list.values];
      found.push(...(await this.database.query<Result>(`${sql} AND id IN ${list.sql} ${order}`, parameters)));
    }
    return found;
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
  const rows = await statements.query(
    `UPDATE approvals SET decision = ?, decided_by = ?, answer = ?, decided_at = ?
     WHERE decision IS NULL AND ${where} RETURNING *`,
    [decision, by ?? null, toText(answer), now, ...parameters],
  );
  return rows.map(toApproval);
}

type Aged = { readonly createdAt: number; readonly id: string };

function byAge(a: Aged, b: Aged): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}

const MEMBERS: Members<Omit<ApprovalRecord, "outcome">> = {
  id: "plain",
  org: "plain",
  session: "plain",
  server: "plain",
  request: "json",
  createdAt: "plain",
  expiresAt: "plain",
};

const OUTCOME: Members<ApprovalOutcome> = {
  decision: "plain",
  by: "plain",
  answer: "json",
  at: "plain",
};

function toApproval(row: Row): ApprovalRecord {
  const { decision, decided_by, answer, decided_at } = row;
  const outcome = { decision, by: decided_by, answer: answer ?? "null", at: decided_at ?? 0 } as Row;
  return {
    ...fromRow(row, MEMBERS),
    outcome: decision === null ? undefined : fromRow(outcome, OUTCOME),
  };
}

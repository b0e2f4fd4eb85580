import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { queryAudit, verifyAudit } from "../../src/guard/audit/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { createRandom, Ledger, Load } from "../setup/kill-test-load.js";
import { readHostState } from "../setup/leaks.js";
import { requires } from "../setup/requires.js";
import {
  descendantsOf,
  identityOf,
  isAlive,
  type ServerProcess,
  spawnServer,
  startServer,
} from "../setup/server-process.js";
import { testSeed } from "../setup/test-seed.js";
import { createUser, type User } from "./run-skerry.js";

const ROUNDS = 50;
const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: high, requires_confirmation: true }
    run_code: { risk_level: low }
    file_list: { risk_level: low }
    file_write: { risk_level: low }
`;

let user: User;
let key: string;
let server: ServerProcess | undefined;
const ledger = new Ledger();
/** What cgroups and directories of the servers that were killed are called after. */
const labels: string[] = [];

requires("bubblewrap").describe("a server that is killed at any moment", { timeout: 1_200_000 }, () => {
  beforeAll(async () => {
    user = createUser();
    writeFileSync(join(user.home, "policy.yaml"), POLICY);
    writeFileSync(join(user.home, "config.yaml"), "server: { stopDeadline: 1s }\n");
    // Builds where that has to be done, and makes the key.
    server = await startServer(user);
    key = server.key!;
    server.kill("SIGTERM");
    await server.ended;
  });
  afterAll(async () => {
    server?.kill("SIGKILL");
    await server?.ended;
    user.skerry(["exec", "--", "true"]);
  });

  it("comes back with everything that it has answered for", async () => {
    const random = createRandom(testSeed);
    let startMs = 1000;
    for (let round = 0; round < ROUNDS; round++) {
      const asks = round % 5 === 0;
      const args = ["--config", "config.yaml", ...(asks ? ["--policy", "policy.yaml"] : [])];
      const kind = random(1);
      if (kind < 0.2) {
        const starting = spawnServer(user, args);
        await Promise.race([delay(random(startMs)), starting.ended]);
        await kill(starting);
        continue;
      }
      const before = Date.now();
      server = await spawnServer(user, args).listening;
      startMs = Date.now() - before;
      // Its own numbers: when its callers draw them, and how many, is nothing that a seed decides.
      const load = new Load({ url: server.url, key, round, ledger, random: createRandom(testSeed + round) });
      await checkLife(load, round, before);
      const asked = ledger.asked.size;
      const over = load.run(asks);
      // On a slow machine a server is asked nothing in its first moments: some live until they are.
      if (round % 10 === 0) await waitUntil(() => ledger.asked.size > asked);
      await delay(random(Math.max(600, startMs)));
      if (kind < 0.35) {
        server.kill("SIGTERM");
        await delay(random(300));
      }
      await kill(server);
      load.stop();
      await over;
      ledger.died();
    }
    const before = Date.now();
    server = await spawnServer(user, ["--config", "config.yaml"]).listening;
    const last = new Load({ url: server.url, key, round: ROUNDS, ledger, random });
    await checkLife(last, ROUNDS, before);
    await checkEnd(last);
  });
});

/** Kills a server with everything that it started. */
async function kill(process: Pick<ServerProcess, "pid" | "kill" | "ended">): Promise<void> {
  const inside = descendantsOf(process.pid);
  labels.push(identityOf(process.pid).replace("@", "-"));
  process.kill("SIGKILL");
  await process.ended;
  // Nothing inside survives it, even before the next start.
  await waitUntil(() => [...inside].every((each) => !isAlive(each)));
}

/** What has to be true after every start, which began at that moment. */
async function checkLife(load: Load, round: number, startedAt: number): Promise<void> {
  const list = async (path: string) => (await load.call("GET", path))!.body.items as Record<string, string>[];
  const at = `round ${round}`;
  expect([at, await list("/v1/executions?state=running")]).toEqual([at, []]);
  expect([at, await list("/v1/approvals")]).toEqual([at, []]);
  const sessions = await list("/v1/sessions?limit=1000");
  const ids = new Map(sessions.map(({ sessionId, sessionUid }) => [sessionId, sessionUid]));
  expect([at, ids.size]).toEqual([at, sessions.length]);
  const vanished = [...ledger.sessions].filter(([name, id]) => ids.get(name) !== id);
  expect([at, vanished]).toEqual([at, []]);
  const active = new Set(sessions.map(({ sessionUid }) => sessionUid));
  const undead = [...ledger.deleted].filter((id) => active.has(id));
  const late = [...ledger.expiring].filter(([id, until]) => until < startedAt && active.has(id));
  expect([at, undead, late]).toEqual([at, [], []]);
  const keys = [...ledger.idempotent];
  for (const [each, id] of [...keys.slice(-1), ...keys.slice(round, round + 1)]) {
    const again = await load.call(
      "POST",
      "/v1/sessions",
      { ttlMs: ttlOf(each) },
      { "idempotency-key": each },
    );
    expect([at, again!.status, again!.body.sessionUid]).toEqual([at, 200, id]);
  }
  for (const session of ["a", "b"].filter((name) => ledger.sessions.has(name)))
    await checkFiles(load, session, at);
}

function ttlOf(idempotencyKey: string): number | null {
  return Number(idempotencyKey.split("-")[2]) % 3 === 1 ? 1000 : null;
}

/** What was answered for is there, and whatever is there is whole. */
async function checkFiles(load: Load, session: string, at: string): Promise<void> {
  const listed = await load.call("GET", `/v1/sessions/${session}/files?limit=1000`);
  expect([at, listed]).toMatchObject([at, { status: 200 }]);
  const { items } = listed!.body;
  const sizes = new Map((items as { path: string; size: number }[]).map(({ path, size }) => [path, size]));
  const missing = [...ledger.files].filter(
    ([name, size]) => name.startsWith(`${session}/`) && sizes.get(name.slice(session.length + 1)) !== size,
  );
  expect([at, missing]).toEqual([at, []]);
  if (session !== "a") return;
  const named = [...sizes].filter(([path]) => path.startsWith("up-"));
  const halves = named.filter(([path, size]) => Number(path.split("-")[3]) !== size);
  expect([at, halves]).toEqual([at, []]);
}

/** What has to be true of all lives together. */
async function checkEnd(load: Load): Promise<void> {
  expect(ledger.files.size).toBeGreaterThan(ROUNDS);
  expect(ledger.interrupted.size).toBeGreaterThan(ROUNDS / 5);
  expect(ledger.asked.size).toBeGreaterThan(0);
  const reasons = new Map<string, string>();
  await waitUntil(async () => {
    const ended = (await load.call("GET", "/v1/sessions?state=ended&limit=1000"))!.body.items;
    for (const { sessionUid, endedWhy } of ended as { sessionUid: string; endedWhy: string }[])
      reasons.set(sessionUid, endedWhy);
    return [...ledger.expiring.keys()].every((id) => reasons.get(id) === "expired");
  });
  expect([...ledger.deleted].filter((id) => reasons.get(id) !== "deleted")).toEqual([]);
  await waitUntil(async () => (await unknownDirectories(load)).length === 0);
  server!.kill("SIGTERM");
  expect(await server!.ended).toBe(0);
  await checkRecords(join(user.home, "state", "audit"));
  checkLitter(join(user.home, "state"));
}

/** The chain is whole, and tells of everything that a kill has broken off. */
async function checkRecords(audit: string): Promise<void> {
  expect(await verifyAudit(audit)).toMatchObject({ ok: true });
  const broken = new Set<unknown>();
  const rejected = new Set<unknown>();
  for await (const { event_type, result, details } of queryAudit(audit)) {
    if (event_type === "sandbox_execution" && result === "interrupted") broken.add(details?.["request_id"]);
    if (event_type === "approval_interrupted") rejected.add(details?.["approval"]);
  }
  expect([...ledger.interrupted].filter((id) => !broken.has(id))).toEqual([]);
  expect([...ledger.asked].filter((id) => !rejected.has(id))).toEqual([]);
}

/** Nothing is left but the sessions and what they share. */
function checkLitter(state: string): void {
  const names = (...path: string[]) => readdirSync(join(state, ...path)).sort();
  const shared = [
    "audit",
    "ephemeral",
    "owners",
    "runtime",
    "server",
    "sessions",
    "start-trial",
    "templates",
  ];
  expect(names().filter((name) => !shared.includes(name))).toEqual([]);
  expect([names("ephemeral"), names("audit", "pending")]).toEqual([[], []]);
  const kept = ["id", "store.db", "store.db-shm", "store.db-wal", "writer"];
  expect(names("server").filter((name) => !kept.includes(name))).toEqual([]);
  expect(names("owners").length).toBeLessThanOrEqual(names("sessions").length);
  const groups = [...readHostState().cgroups].filter((path) =>
    labels.some((label) => path.includes(`-${label}-`)),
  );
  expect(groups).toEqual([]);
}

/** Directories of sessions that are not there any more. */
async function unknownDirectories(load: Load): Promise<string[]> {
  const { items } = (await load.call("GET", "/v1/sessions?limit=1000"))!.body;
  const active = (items as { sessionUid: string }[]).map(({ sessionUid }) => sessionUid);
  return readdirSync(join(user.home, "state", "sessions")).filter(
    (name) => !active.some((id) => name.startsWith(`${id}-`)),
  );
}

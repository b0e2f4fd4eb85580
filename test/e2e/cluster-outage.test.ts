import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { verifyAudit } from "../../src/guard/audit/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { ClusterServer } from "../setup/cluster-server.js";
import { createDaemonDirectory, removeDaemonDirectory } from "../setup/daemon-directory.js";
import { requires } from "../setup/requires.js";
import { spawnPostgres, type TestPostgres } from "../setup/spawn-postgres.js";

const LONG_MS = 60_000;
const directory = createDaemonDirectory();
const servers = [new ClusterServer(), new ClusterServer()] as const;
const [a, b] = servers;

let postgres: TestPostgres;
let key: string;

requires("bubblewrap", "postgresql").describe("servers whose PostgreSQL goes away", () => {
  beforeAll(async () => {
    // Its own: the other tests' must not go.
    postgres = await spawnPostgres(join(directory, "postgres"));
    await a.start({ store: postgres.url, lease: "10m" });
    key = a.served.key!;
    await b.start({ store: postgres.url, lease: "10m" });
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    await postgres?.stop("SIGQUIT");
    await removeDaemonDirectory(directory);
  });

  it("say so to clients, and go on with everything when it is back", async () => {
    const long = a.run(key, "long", "touch on; while ! [ -e off ]; do sleep 0.1; done; echo whole");
    await waitUntil(
      async () => (await b.call(key, "GET", "/v1/sessions/long/files/on")).status === 200,
      LONG_MS,
    );
    let isOver = false;
    let kept = 0;
    const seen = new Set<string>();
    // Each writes to its own server's session through the other one.
    const callers = (
      [
        [a, "of-b"],
        [b, "of-a"],
      ] as const
    ).map(async ([server, session]) => {
      const owner = server === a ? b : a;
      expect((await owner.run(key, session, "true")).status).toBe(200);
      while (!isOver) {
        const reply = await server.run(key, session, "echo line >> lines");
        if (reply.body.success === true) kept++;
        else seen.add(`${reply.status} ${reply.body.code}`);
      }
    });
    await waitUntil(() => kept > 3, LONG_MS);
    await postgres.stop("SIGQUIT");
    await waitUntil(() => seen.size > 0, LONG_MS);
    expect((await fetch(`${a.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${a.url}/healthz`)).status).toBe(200);
    await postgres.start();
    const before = kept;
    await waitUntil(() => kept > before + 3, LONG_MS);
    isOver = true;
    await Promise.all(callers);
    expect([...seen]).toEqual(["503 STORE_FAILED"]);
    const counts = await Promise.all(
      ["of-a", "of-b"].map(async (name) => Number((await a.run(key, name, "wc -l < lines")).body.stdout)),
    );
    // What was answered for is there; one that ran when nothing could be stored may be, too.
    expect(counts[0]! + counts[1]!).toBeGreaterThanOrEqual(kept);

    // What ran all the while has its result, and counts as ended.
    await b.call(key, "POST", "/v1/sessions/long/files/mkdir", { path: "off" });
    expect((await long).body).toMatchObject({ success: true, stdout: "whole\n" });
    await waitUntil(
      async () => (await a.call(key, "GET", "/v1/executions?state=running")).body.items.length === 0,
      LONG_MS,
    );
  });

  it("stop by themselves before others could take them for dead, and find everything when they are back", async () => {
    for (const server of servers) {
      await server.end("SIGTERM");
    }
    await Promise.all(servers.map((server) => server.start({ store: postgres.url, lease: "12s" })));
    const running = b.run(key, "of-a", "sleep 600").then(({ status }) => status);
    await waitUntil(async () => (await a.call(key, "GET", "/v1/pool")).body.running === 1, LONG_MS);
    await postgres.stop("SIGINT");
    // What does not stop in the time that is left goes with the process.
    const ends = await Promise.all(servers.map(({ served }) => served.ended));
    expect(ends.filter((end) => end !== 74 && end !== "SIGKILL")).toEqual([]);
    expect(await running.catch(() => "hung up")).not.toBe(200);
    await postgres.start();
    await Promise.all(servers.map((server) => server.start()));
    // Both have been away for longer than their leases, and neither was dead.
    for (const name of ["of-a", "of-b", "long"])
      expect((await b.run(key, name, "ls | wc -l")).body).toMatchObject({ success: true });
    for (const server of servers) {
      await server.end("SIGTERM");
      expect(await server.records({ eventType: "session_lost" })).toEqual([]);
      expect(await verifyAudit(join(server.user.home, "state", "audit"))).toMatchObject({ ok: true });
    }
  });
});

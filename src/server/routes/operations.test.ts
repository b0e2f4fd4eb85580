import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";
import { listPools } from "../../runtime/pool/list-pools.js";

/** Roles whose limits differ from the configuration's, and one that may run nothing. */
const POLICY = `
policies:
  tools:
    run_code: { risk_level: medium }
    shell_exec: { risk_level: high, denied_commands: [reboot] }
    file_read: { risk_level: low }
  agent_roles:
    coder: { tools: [run_code, shell_exec], max_pids: 24 }
    operator: { tools: [shell_exec], max_pids: 32 }
    reader: { tools: [file_read] }
`;
const real = requires("root", "bubblewrap", "cgroups", "python3");

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
type Status = any;

real.describe("sessions that are made", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.open({ policy: POLICY, server: { sessions: { startAhead: 3 } } });
  });
  afterAll(() => server.close());

  const status = async (): Promise<Status> => (await server.call(server.admin, "GET", "/v1/status")).body;
  const sandboxes = async () => (await status()).figures.sandboxes;
  const make = (name: string, role: string) =>
    server.call(server.admin, "POST", "/v1/sessions", { sessionId: name, role });
  const run = (name: string, role: string, command: string) =>
    server.call(server.admin, "POST", `/v1/sessions/${name}/execute`, { command, role });
  const end = (name: string) => server.call(server.admin, "DELETE", `/v1/sessions/${name}`);

  it("have a sandbox before they are used, with the limits that the first call has", async () => {
    const before = (await sandboxes()).started;
    for (const [role, pids] of [
      ["coder", "24\n"],
      ["operator", "32\n"],
    ] as const) {
      expect((await make(role, role)).status).toBe(201);
      await waitUntil(async () => (await sandboxes()).inUse === 1);
      await waitUntil(async () => (await status()).figures.running === 0);
      expect((await run(role, role, "ulimit -u")).body).toMatchObject({ success: true, stdout: pids });
      await end(role);
      expect((await sandboxes()).inUse).toBe(0);
    }
    // The calls started none.
    expect((await sandboxes()).started).toBe(before + 2);
  });

  it("have none where nothing may run, or where the caller's role is unknown", async () => {
    const before = (await sandboxes()).started;
    expect((await make("idle", "reader")).status).toBe(201);
    expect((await server.call(server.admin, "POST", "/v1/sessions", { sessionId: "no-role" })).status).toBe(
      201,
    );
    expect((await run("idle", "reader", "true")).body).toMatchObject({ reason: "denied" });
    expect(await sandboxes()).toMatchObject({ inUse: 0, started: before, failed: 0 });
    for (const name of ["idle", "no-role"]) await end(name);
  });

  it("have a sandbox only so many at a time, the next one when one is used", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `many-${index}`);
    const before = (await sandboxes()).started;
    await Promise.all(names.map((name) => make(name, "coder")));
    let most = 0;
    const look = async () => {
      const { inUse } = await sandboxes();
      most = Math.max(most, inUse);
      return inUse;
    };
    await waitUntil(async () => (await look()) === 3);
    // Whichever: one of those that wait gets the place of one that is used.
    expect((await run("many-0", "coder", "true")).body.success).toBe(true);
    await waitUntil(async () => (await look()) === 4);
    expect(most).toBeLessThanOrEqual(4);
    // Deleting them does not start the others first.
    await waitUntil(async () => (await sandboxes()).started === before + 4);
    for (const name of names) await end(name);
    expect(await sandboxes()).toMatchObject({ inUse: 0, started: before + 4 });
  });

  it("leave nothing when they are deleted at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `gone-${index}`);
    const { started } = await sandboxes();
    await Promise.all(
      names.map(async (name, index) => {
        await make(name, "coder");
        // Some while they wait, some while they start, some when they run.
        if (index % 3 === 0) await waitUntil(async () => (await sandboxes()).started > started);
        expect((await end(name)).status).toBe(200);
      }),
    );
    expect((await sandboxes()).inUse).toBe(0);
    for (const folder of ["sessions", "owners", "ephemeral"])
      expect(readdirSync(join(server.stateDir, folder))).toEqual([]);
  });

  it("tell of a start that failed at the first use, and not before", async () => {
    const wanted = { sessionId: "lost", role: "coder", backend: "docker" };
    expect((await server.call(server.admin, "POST", "/v1/sessions", wanted)).status).toBe(201);
    expect((await run("lost", "coder", "true")).body).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    await end("lost");
    const unknown = { ...wanted, backend: "no-such-backend" };
    expect(await server.call(server.admin, "POST", "/v1/sessions", unknown)).toMatchObject({
      status: 400,
      body: { code: "BACKEND_UNKNOWN" },
    });
  });
});

real.it(
  "a sandbox that was started ahead and is not used stops, and the session can still be used",
  async () => {
    const server = await TestServer.open({ sandbox: { runtime: { idleTimeout: "500ms" } } });
    try {
      const sandboxes = async () =>
        (await server.call(server.admin, "GET", "/v1/status")).body.figures.sandboxes as Status;
      expect((await server.call(server.admin, "POST", "/v1/sessions", { sessionId: "s" })).status).toBe(201);
      await waitUntil(async () => (await sandboxes()).started === 1);
      await waitUntil(async () => (await sandboxes()).inUse === 0);
      const used = await server.call(server.admin, "POST", "/v1/sessions/s/execute", { command: "echo 1" });
      expect(used.body).toMatchObject({ success: true, stdout: "1\n" });
    } finally {
      await server.close();
    }
  },
);

real.describe("a server with a pool", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.open({
      sandbox: { network: { allowedDomains: ["allowed.example"] } },
      server: {
        pool: { maxInstances: 3, minInstances: 1, preload: ["python"], acquireTimeout: "300ms" },
        sessions: { startAhead: 0 },
      },
    });
  });
  afterAll(() => server.close());

  const status = async (key = server.admin): Promise<Status> =>
    (await server.call(key, "GET", "/v1/status")).body;
  const pool = async () => (await server.call(server.admin, "GET", "/v1/pool")).body.pool;
  const python = (session: string, code = "print(1)") =>
    server.call(server.admin, "POST", `/v1/sessions/${session}/execute`, { language: "python", code });
  const check = async (name: string) =>
    (await status()).checks.find((each: { name: string }) => each.name === name);
  /** A call that must have a place. A busy machine may take longer than `acquireTimeout` to start a sandbox, or to end one. */
  const placed = async (call: () => ReturnType<typeof python>) => {
    let answer = await call();
    await waitUntil(async () => {
      const isRefused = answer.body.code === "POOL_EXHAUSTED";
      if (isRefused) answer = await call();
      return !isRefused;
    });
    expect(answer.body).toMatchObject({ reason: "exited" });
    return answer;
  };

  it("gives new sessions a sandbox that was ready, which others see in its status", async () => {
    await waitUntil(async () => (await pool()).idle >= 1);
    expect((await python("first")).body).toMatchObject({ success: true, stdout: "1\n", warm: true });
    expect(await pool()).toMatchObject({ hits: 1, misses: 0, busy: 1, maxInstances: 3, minInstances: 1 });
    expect(await listPools(server.stateDir)).toMatchObject([
      { pid: process.pid, backend: "bubblewrap", status: { hits: 1, maxInstances: 3 } },
    ]);
    expect(await check("pool")).toMatchObject({ ok: true, found: expect.stringContaining("pool of 3: ") });
  });

  it("refuses who finds it full, says when to come back, and its status what to do", async () => {
    for (const name of ["second", "third"]) await placed(() => python(name));
    expect(await pool()).toMatchObject({ busy: 3 });
    const refused = await python("fourth");
    expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
      503,
      "POOL_EXHAUSTED",
      "5",
    ]);
    expect(await check("pool")).toMatchObject({
      ok: false,
      todo: expect.stringContaining("raise server.pool.maxInstances"),
    });
    for (const name of ["second", "third", "fourth"])
      await server.call(server.admin, "DELETE", `/v1/sessions/${name}`);
    expect((await python("first")).body.success).toBe(true);
  });

  it("names the hosts that an org was kept from to that org only", async () => {
    const other = (await server.key("other", { admin: true })).secret;
    const curl = (key: string, host: string) =>
      placed(() =>
        server.call(key, "POST", "/v1/sessions/net/execute", {
          command: `curl -s -m 60 http://${host}/; true`,
        }),
      );
    await curl(server.admin, "own.example");
    await curl(other, "theirs.example");
    await curl(server.admin, "own.example");
    // What repeats is told together, a moment later.
    await waitUntil(async () => (await status()).figures.recent.connections.denied === 3);
    const [mine, theirs] = [(await status()).figures.recent, (await status(other)).figures.recent];
    expect(mine.deniedHosts).toEqual([{ host: "own.example", count: 2 }]);
    expect(theirs.deniedHosts).toEqual([{ host: "theirs.example", count: 1 }]);
    // In numbers, everybody's.
    expect([mine.connections.denied, theirs.connections.denied]).toEqual([3, 3]);
    for (const key of [server.admin, other]) await server.call(key, "DELETE", "/v1/sessions/net");
  });

  it("has every metric that the documents ask for, fed by what runs", async () => {
    await placed(() => python("first", "raise SystemExit(3)"));
    await placed(() => python("first", "print('x' * 10)"));
    await server.call(server.admin, "GET", "/v1/nothing/at/all?key=secret");
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/approvals/stream`, {
      headers: { authorization: `Bearer ${server.admin}` },
    });
    await once(socket, "message");
    const scrape = async () => (await server.fetch(server.admin, "GET", "/metrics")).text();
    // The monitor looks every two seconds.
    await waitUntil(async () => (await scrape()).includes("sandbox_memory_usage_bytes{"));
    const text = await scrape();
    socket.close();
    const value = (series: string) => {
      const found = text.split("\n").find((line) => line.startsWith(`${series} `));
      return found === undefined ? undefined : Number(found.slice(series.length + 1));
    };
    const sandbox = /sandbox_memory_usage_bytes\{sandbox_id="(sbx-[0-9a-f]+)"\}/.exec(text)![1];
    for (const [series, least] of [
      ['sandbox_executions_total{tool="run_code",language="python",status="success"}', 4],
      ['sandbox_executions_total{tool="run_code",language="python",status="error"}', 1],
      ['sandbox_execution_duration_seconds_count{tool="run_code"}', 5],
      [`sandbox_memory_usage_bytes{sandbox_id="${sandbox}"}`, 1000],
      [`sandbox_cpu_usage_seconds{sandbox_id="${sandbox}"}`, 0],
      ['sandbox_pool_size{status="busy"}', 1],
      ['sandbox_policy_violations_total{tool="network",reason="domain"}', 3],
      ['sandbox_network_connections_total{verdict="denied"}', 3],
      ['skerry_http_requests_total{method="POST",route="/v1/sessions/:sessionId/execute",status="200"}', 5],
      ['skerry_http_requests_total{method="other",route="none",status="404"}', 1],
      ['skerry_http_request_duration_seconds_count{route="/v1/sessions/:sessionId/execute"}', 5],
      ["skerry_websocket_connections", 1],
      ["skerry_sandboxes", 1],
      ['skerry_sandbox_starts_total{status="succeeded"}', 3],
      ["skerry_store_up", 1],
      ["skerry_store_bytes", 10_000],
      ["skerry_sessions_active", 1],
      ["skerry_servers", 1],
      ["skerry_audit_up", 1],
      ["skerry_audit_last_record_timestamp_seconds", Date.now() / 1000 - 300],
      ["skerry_pool_max", 3],
      ['skerry_pool_leases_total{status="ready"}', 1],
      ['skerry_pool_failures_total{kind="timeout"}', 1],
      ['skerry_disk_free_bytes{place="state"}', 1],
      ["process_resident_memory_bytes", 10_000_000],
      ["nodejs_eventloop_lag_p99_seconds", 0],
    ] as const)
      expect({ series, value: value(series) }).toSatisfy(
        (found: { value?: number }) => found.value !== undefined && found.value >= least,
      );
    expect(value("skerry_work_running")).toBe(0);
    expect(text).not.toMatch(/secret|first|own\.example/);
    expect(await check("violations")).toMatchObject({ found: expect.stringContaining("/metrics read ") });
  });

  it("measures its sandboxes, and finds the end of its log spoilt", async () => {
    await waitUntil(async () => (await status()).figures.sandboxes.measured >= 1);
    expect(await check("resources")).toMatchObject({
      ok: true,
      found: expect.stringMatching(
        /^\d+ of \d+ measured: cpu [\d.]+ % and memory [\d.]+ % of the limit at most/,
      ),
    });
    expect(await check("audit")).toMatchObject({
      ok: true,
      found: expect.stringMatching(/^can be written; last record \d+, .* ago; .* are whole$/),
    });
    const [file] = readdirSync(server.auditDirectory).filter((name) => name.endsWith(".jsonl"));
    const path = join(server.auditDirectory, file!);
    const text = readFileSync(path, "latin1");
    const lines = text.split("\n");
    // The same length, as a forger would change it.
    lines[lines.length - 3] = lines.at(-3)!.replace(/"exit_code":\d/, '"exit_code":9');
    writeFileSync(path, lines.join("\n"));
    expect(await check("audit")).toMatchObject({
      ok: false,
      found: expect.stringContaining("was changed: its hash does not match"),
      todo: expect.stringContaining("skerry audit verify"),
    });
    expect((await status()).ok).toBe(false);
    writeFileSync(path, text);
    expect(await check("audit")).toMatchObject({ ok: true });
  });
});

describe("a server whose pool cannot be", () => {
  it("does not start with a language that there is not", async () => {
    await expect(
      TestServer.open({ server: { pool: { maxInstances: 2, preload: ["cobol"] } } }),
    ).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("server.pool.preload: "),
    });
  });
});

real.it(
  "a call that comes right after its session's creation is answered, whatever its limits are",
  async () => {
    const server = await TestServer.open({
      policy: `
policies:
  tools:
    run_code: { max_execution_time: 30s, max_memory: 512MB }
    shell_exec: {}
  agent_roles:
    code_assistant: { tools: [run_code, shell_exec] }
`,
    });
    try {
      const call = (path: string, body: object) =>
        server.call(server.admin, "POST", `/v1/sessions${path}`, { role: "code_assistant", ...body });
      for (const sessionId of ["w1", "w2", "w3"]) {
        expect((await call("", { sessionId })).status).toBe(201);
        const { body } = await call(`/${sessionId}/execute`, { command: "echo acme > x && cat x" });
        expect(body).toMatchObject({ success: true, stdout: "acme\n" });
      }
      const { started } = ((await server.call(server.admin, "GET", "/v1/status")).body as Status).figures
        .sandboxes;
      expect(started).toBeLessThanOrEqual(6);
    } finally {
      await server.close();
    }
  },
);

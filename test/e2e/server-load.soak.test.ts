import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { readHostState } from "../setup/leaks.js";
import { requires } from "../setup/requires.js";
import { descendantsOf, identityOf, type ServerProcess, startServer } from "../setup/server-process.js";
import { createUser, type User } from "./run-skerry.js";

const SESSIONS = 1000;
const MAKERS = 16;
const CALLERS = 200;
const SHARED_SESSIONS = 40;
const LOAD_MS = 60_000;
const SETTLED_MS = 60_000;
/** What is the same for so long stays so. */
const SAME_MS = 2000;

let user: User;
let server: ServerProcess;

requires("root", "bubblewrap", "cgroups").describe("a server with much to do", { timeout: 600_000 }, () => {
  beforeAll(async () => {
    user = createUser();
    const env = {
      SKERRY_SERVER__LIMITS__REQUESTS_PER_MINUTE: "1000000",
      SKERRY_SERVER__LIMITS__CONCURRENCY: String(2 * CALLERS),
    };
    server = await startServer({ ...user, environment: { ...user.environment, ...env } });
  });
  afterAll(async () => {
    server?.kill("SIGKILL");
    await server?.ended;
    user?.skerry(["exec", "--", "true"]);
  });

  it(`makes and ends ${SESSIONS} sessions, and nothing of them is left`, async () => {
    const before = await nothingRuns();
    const names = Array.from({ length: SESSIONS }, (_, index) => `session-${index}`);
    const made = await eachOf(names, MAKERS, (name) => call("POST", "/v1/sessions", { sessionId: name }));
    expect(new Set(made)).toEqual(new Set([201]));
    expect(await listed()).toBe(SESSIONS);
    const ended = await eachOf(names, MAKERS, (name) => call("DELETE", `/v1/sessions/${name}`));
    expect(new Set(ended)).toEqual(new Set([200]));
    await isAsBefore(before);
  });

  it(`answers ${CALLERS} callers at once for a minute without an error, and nothing of them is left`, async () => {
    const before = await nothingRuns();
    const memoryMb = server.memoryMb();
    const wrong: string[] = [];
    let done = 0;
    const until = performance.now() + LOAD_MS;
    const caller = async (index: number) => {
      const path = `/v1/sessions/shared-${index % SHARED_SESSIONS}/execute`;
      for (let round = 0; performance.now() < until; round++) {
        const response = await request("POST", path, {
          language: "python",
          code: `print(${index}, ${round})`,
        });
        const text = await response.text();
        if (response.status !== 200 || JSON.parse(text).stdout !== `${index} ${round}\n`)
          wrong.push(`${response.status} ${text.slice(0, 500)}`);
        else done++;
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)));
    console.info(`${done} executions by ${CALLERS} callers`);
    expect(wrong).toEqual([]);
    // A heap may grow to what Node gives it; what all those callers sent and got is far more.
    expect(server.memoryMb() - memoryMb).toBeLessThan(300);
    expect(done).toBeGreaterThan(CALLERS);
    const names = Array.from({ length: SHARED_SESSIONS }, (_, index) => `shared-${index}`);
    await eachOf(names, MAKERS, (name) => call("DELETE", `/v1/sessions/${name}`));
    await isAsBefore(before);
  });

  it("stops at once when it has nothing more to do, and leaves a whole log", async () => {
    server.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(user.skerry(["audit", "verify"])).toMatchObject({ status: 0 });
  });
});

/** What a server has of its sandboxes. */
interface Held {
  readonly files: number;
  readonly processes: number;
  readonly cgroups: number;
}

/** After one execution, whose session is gone: what is made once and kept, is there. */
async function nothingRuns(): Promise<Held> {
  expect(await call("POST", "/v1/sessions/first/execute", { language: "python", code: "1" })).toBe(200);
  expect(await call("DELETE", "/v1/sessions/first")).toBe(200);
  let last = held();
  await waitUntil(async () => {
    await delay(SAME_MS);
    const [now, then] = [held(), last];
    last = now;
    return JSON.stringify(now) === JSON.stringify(then);
  }, SETTLED_MS);
  return last;
}

async function isAsBefore(before: Held): Promise<void> {
  expect(await listed()).toBe(0);
  const directories = () => readdirSync(join(user.home, "state", "sessions"));
  await waitUntil(() => {
    const { files, processes, cgroups } = held();
    const isLess = files <= before.files && processes <= before.processes && cgroups <= before.cgroups;
    return isLess && directories().length === 0;
  }, SETTLED_MS).catch(() => undefined);
  const { files, ...others } = held();
  expect({ ...others, directories: directories() }).toEqual({
    processes: before.processes,
    cgroups: before.cgroups,
    directories: [],
  });
  expect(files).toBeLessThanOrEqual(before.files);
}

function held(): Held {
  const descriptors = readdirSync(`/proc/${server.pid}/fd`).filter((each) => {
    try {
      // Connections of callers, which stay open for the next request, are theirs.
      return !isOfCaller(readlinkSync(`/proc/${server.pid}/fd/${each}`));
    } catch {
      return false;
    }
  });
  const label = `-${identityOf(server.pid).replace("@", "-")}-`;
  return {
    files: descriptors.length,
    processes: descendantsOf(server.pid).size,
    cgroups: [...readHostState().cgroups].filter((path) => path.includes(label)).length,
  };
}

function isOfCaller(link: string): boolean {
  const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
  return inode !== undefined && readFileSync(`/proc/${server.pid}/net/tcp`, "utf8").includes(` ${inode} `);
}

async function listed(): Promise<number> {
  const response = await request("GET", "/v1/sessions?limit=1000");
  return ((await response.json()) as { items: unknown[] }).items.length;
}

async function call(method: string, path: string, json?: unknown): Promise<number> {
  const response = await request(method, path, json);
  await response.arrayBuffer();
  return response.status;
}

function request(method: string, path: string, json?: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${server.key}`,
      ...(json !== undefined && { "content-type": "application/json" }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
}

/** Does it for each, so many at a time. */
async function eachOf<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) results.push(await work(item));
    }),
  );
  return results;
}

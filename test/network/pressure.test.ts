import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import type { AuditRecord } from "../../src/guard/audit/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import type { ExecOutcome } from "./network-namespace.js";
import { perHostBackends, TestNetwork } from "./test-network.js";

const HOST = "api.skerry.test";
/** Certificates that must not be trusted, and what is said about them. */
const BAD_CERTIFICATES = [
  ["expired.skerry.test", "its certificate has expired"],
  ["foreign.skerry.test", "its certificate is not trusted"],
  ["wrong.skerry.test", "its certificate is for another name"],
] as const;
const TOKENS = "tokens.skerry.test";
const SECRET = "a-value-for-verified-hosts-only";

/** Many connections at once from several processes: one may not have so many open files. */
const FLOOD = `
import os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for worker in range(4):
    if os.fork() == 0:
        kept, told = [], 0
        for at in range(500):
            try:
                s = socket.create_connection(("127.0.0.1", 3128), timeout=5)
                kept.append(s)
            except OSError: pass
        print(len(kept), flush=True)
        for s in kept:
            s.settimeout(0.001)
            try: told += b"connections open, which is the limit" in s.recv(1000)
            except OSError: pass
        print("told", told, flush=True)
        time.sleep(1)
        os._exit(0)
for worker in range(4): os.wait()
`;

/** As many requests that are refused as there is time for. */
const HAMMER = `
import socket, time
end, count = time.monotonic() + 2, 0
while time.monotonic() < end and count < 2000:
    with socket.create_connection(("127.0.0.1", 3128), timeout=5) as s:
        s.sendall(b"GET http://h%d.evil.test/ HTTP/1.1\\r\\nHost: h%d.evil.test\\r\\n\\r\\n" % (count % 25, count % 25))
        if s.recv(1000): count += 1
print(count)
`;

const SLOW = `
import socket, time
start = time.monotonic()
with socket.create_connection(("127.0.0.1", 3128)) as s:
    s.settimeout(1)
    reply = b""
    for byte in b"GET http://${HOST}/hello HTTP/1.1\\r\\nX-Slow: yes, very slow":
        try:
            s.sendall(bytes([byte]))
            reply = s.recv(1000)
            break
        except TimeoutError: continue
        except OSError: break
    print(round(time.monotonic() - start), reply.decode())
`;

/** Says nothing in a tunnel. */
const IDLE_TUNNEL = `
import socket, time
with socket.create_connection(("127.0.0.1", 3128)) as s:
    s.sendall(b"CONNECT ${HOST}:80 HTTP/1.1\\r\\nHost: ${HOST}:80\\r\\n\\r\\n")
    s.recv(1000)
    start = time.monotonic()
    s.settimeout(15)
    rest = s.recv(1000)
    print(round(time.monotonic() - start), rest.decode())
`;

const network = new TestNetwork();
const backends = await perHostBackends();
const { describe, it, missing } = requires(
  ...(["linux", "root", "bubblewrap", "sandbox-runtime", "openssl", "iproute2", "python3", "curl"] as const),
);

beforeAll(async () => {
  // The environment of the process may switch verification off for something else.
  if (missing.length === 0) await network.start({ NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" });
});
afterAll(() => network.end());

/** Resolves when everything has ended that was open at the hosts. */
const closes = () => waitUntil(async () => (await network.inside.connections()) === 0);

const curl = (...args: string[]) => ["curl", "-sS", "-m", "20", ...args];

describe.each(backends)("a hostile program inside %s", (backend) => {
  const [narrow, wide] = [`${backend}-narrow`, `${backend}-wide`];
  let slow: Promise<ExecOutcome>;
  beforeAll(async () => {
    if (missing.length > 0) return;
    const hosts = [TOKENS, ...BAD_CERTIFICATES.map(([host]) => host)];
    await network.inside.open(narrow, {
      backend,
      network: { allowedDomains: [HOST, ...hosts], limits: { idle: "2s" } },
      secrets: [{ name: "TOKEN", value: SECRET, hosts }],
    });
    await network.inside.open(wide, { backend, network: { allowedDomains: [HOST, "*.evil.test"] } });
    // It takes its time, while others do something.
    slow = network.inside.python(wide, `${backend}-slow`, SLOW);
    slow.catch(() => undefined);
  });

  it("cannot use another session's egress, nor its placeholders", async () => {
    const ask = curl("http://data.evil.test/hello");
    const [allowed, refused] = await Promise.all([
      network.inside.exec(wide, `${backend}-b`, ask),
      network.inside.exec(narrow, `${backend}-a`, ask),
    ]);
    expect(allowed.stdout).toBe("hello from data.evil.test\n");
    expect(refused.denied).toEqual(["data.evil.test is not allowed by rule sandbox.network.allowedDomains"]);
    const tell = ["sh", "-c", "echo $TOKEN"];
    const [mine, other] = await Promise.all(
      ["a", "other"].map(async (name) =>
        (await network.inside.exec(narrow, `${backend}-${name}`, tell)).stdout.trim(),
      ),
    );
    expect(other).toMatch(/^skerry_secret_TOKEN_/);
    expect(mine).not.toBe(other);
    await network.inside.look(narrow);
    for (const token of [mine, other]) {
      const header = `Authorization: Bearer ${token}`;
      await network.inside.exec(narrow, `${backend}-a`, curl("-H", header, `https://${TOKENS}/hello`));
    }
    const { authorizations } = await network.inside.look(narrow);
    expect(authorizations).toEqual([`Bearer ${SECRET}`, `Bearer ${other}`]);
  });

  it("is told about a host whose certificate is not good, which hears nothing of it", async () => {
    for (const [host, why] of BAD_CERTIFICATES) {
      const command = `curl -sS -m 10 -i --suppress-connect-headers -H "Authorization: Bearer $TOKEN" https://${host}/hello`;
      const { stdout } = await network.inside.exec(narrow, `${backend}-a`, ["sh", "-c", command]);
      expect(stdout).toMatch(/^HTTP\/1\.1 502 /);
      expect(stdout).toContain(`${host}: ${why}`);
      const { visits, authorizations, records } = await network.inside.look(narrow);
      expect(authorizations).toEqual([]);
      expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
      expect(records.some(({ error }) => error?.includes(why))).toBe(true);
    }
  });

  it("holds nothing open at a host that never answers, once it gives up or is idle", async () => {
    const { exitCode } = await network.inside.exec(
      narrow,
      `${backend}-a`,
      curl("-m", "1", `http://${HOST}/silent`),
    );
    expect(exitCode).toBe(28);
    const { visits } = await network.inside.look(narrow);
    expect(visits.flatMap(({ requests }) => requests)).toEqual([`GET http://${HOST}/silent`]);
    await closes();
    const tunnel = network.inside.python(narrow, `${backend}-a`, IDLE_TUNNEL);
    expect((await tunnel).stdout).toMatch(/^[2-5] $/m);
    await closes();
  });

  it("floods its egress with 2,000 connections, and others are served meanwhile", async () => {
    await network.inside.exec(wide, `${backend}-b`, ["true"]);
    const flood = network.inside.python(narrow, `${backend}-a`, FLOOD);
    const times: number[] = [];
    let isOver = false;
    void flood.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const { stdout, ms } = await network.inside.exec(wide, `${backend}-b`, curl(`http://${HOST}/hello`));
      expect(stdout).toBe(`hello from ${HOST}\n`);
      times.push(ms);
      await delay(50);
    }
    const { stdout, stderr } = await flood;
    expect(stderr).toBe("");
    const told = [...stdout.matchAll(/told (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    expect(told).toBeGreaterThan(300);
    expect(times.length).toBeGreaterThan(2);
    // It can go on as soon as it behaves.
    const after = await network.inside.exec(narrow, `${backend}-a`, curl(`http://${HOST}/hello`));
    expect(after.stdout).toBe(`hello from ${HOST}\n`);
    const { records } = await network.inside.look(narrow);
    expect(records.length).toBeLessThan(300);
  });

  it("cannot fill the audit log by being refused", async () => {
    const { stdout, denied } = await network.inside.python(narrow, `${backend}-a`, HAMMER);
    const attempts = Number(stdout);
    expect(attempts).toBeGreaterThan(30);
    expect(denied).toHaveLength(21);
    expect(denied[0]).toBe("h0.evil.test is not allowed by rule sandbox.network.allowedDomains");
    const sights = [await network.inside.look(narrow)];
    const records = () => sights.flatMap((sight) => sight.records);
    const count = (record: AuditRecord) => (record.details as { count?: number }).count ?? 1;
    const told = () => records().reduce((sum, record) => sum + count(record), 0);
    // What repeats is told at the end of its second.
    await waitUntil(async () => {
      sights.push(await network.inside.look(narrow));
      return told() >= attempts;
    }).catch(() => undefined);
    expect(told()).toBe(attempts);
    // One at once and one at the end of a second, for each host.
    expect(records().length).toBeLessThanOrEqual(25 * 2 * 5);
    const [questions, visits] = [
      sights.flatMap((sight) => sight.questions),
      sights.flatMap((sight) => sight.visits),
    ];
    expect({ questions, visits }).toEqual({ questions: [], visits: [] });
  });

  it("is cut off when it sends one byte a second", async () => {
    expect((await slow).stdout).toMatch(/^(?:9|1[0-3]) HTTP\/1\.1 408 /);
  });

  it("leaves nothing open at its hosts", async () => {
    await network.inside.close(narrow);
    await network.inside.close(wide);
    await closes();
    expect(network.complaints).toBe("");
  });
});

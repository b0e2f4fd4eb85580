import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { AuditLogger, type AuditRecord, createCallbackSink } from "../../../guard/audit/index.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { parseConfig } from "../../config/index.js";
import { createMetrics } from "../../metrics/index.js";
import type { SandboxManager, SandboxManagerOptions } from "../index.js";

/** Not 127.0.0.1, which programs reach without a proxy. */
const HOST = "127.0.0.9";
let origin: Server;
let port: number;

beforeAll(async () => {
  origin = createServer((request, response) => {
    if (request.url === "/never-ends") response.write("…");
    else response.end(`${request.method} ${request.url}`);
  });
  await new Promise<void>((resolve) => origin.listen(0, HOST, resolve));
  port = (origin.address() as AddressInfo).port;
});

afterAll(() => {
  origin.closeAllConnections();
  origin.close();
});

async function open(
  network: Record<string, unknown>,
  options: SandboxManagerOptions = {},
): Promise<SandboxManager> {
  const config = await parseConfig({ sandbox: { network } });
  return openManager({ config, ...options });
}

const allowed = () => ({ allowedIps: [`${HOST}/32`], allowedPorts: [port] });
const curl = (path = "/", host = HOST) => ["curl", "-sS", "-m", "10", `http://${host}:${port}${path}`];

describe("a sandbox that may reach a host", () => {
  it("reaches it, and is told about every other", async () => {
    const manager = await open(allowed());
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    const reached = await sandbox.exec(curl("/there"));
    expect(reached).toMatchObject({ success: true, stdout: "GET /there" });
    expect(reached.network).toMatchObject({ denied: [] });
    expect(reached.network!.bytesReceived).toBeGreaterThan("GET /there".length);
    expect(reached.network!.bytesSent).toBeGreaterThan(0);

    const refused = await sandbox.exec(curl("/", "127.0.0.8"));
    const why = "127.0.0.8 is not allowed by rule sandbox.network.allowedIps";
    expect(refused.stdout).toContain(why);
    expect(refused.network).toEqual({ bytesSent: 0, bytesReceived: 0, denied: [why], failed: [] });
    // What goes around the proxy gets nowhere.
    const around = await sandbox.exec([...curl(), "--noproxy", "*"]);
    expect(around.exitCode).not.toBe(0);
  });

  it("is told in one line that there is no network, and how it is opened, where nothing may be reached", async () => {
    const manager = await open({});
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    expect((await sandbox.exec(["true"])).network).toBeUndefined();
    const refused = await sandbox.exec(curl("/", "api.example"));
    const why =
      'this sandbox has no network: api.example was refused; allow it with egress: allowDomains("api.example"), or in sandbox.network.allowedDomains';
    expect(refused.stdout).toBe(`${why}\n`);
    expect(refused.network).toEqual({ bytesSent: 0, bytesReceived: 0, denied: [why], failed: [] });
    // What it is told once is no other execution's.
    expect((await sandbox.exec(["true"])).network?.denied).toEqual([]);
  });

  it("is told so by Node's own client, also by an interpreter that was started ahead", async () => {
    const manager = await open({});
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    const code = 'await fetch("https://api.example/").catch((error) => console.log(error.cause.message))';
    for (let round = 0; round < 2; round++) {
      const { stdout, network } = await sandbox.runCode(code, { language: "javascript" });
      expect(stdout).toMatch(/^this sandbox has no network: api\.example was refused; /);
      expect(network?.denied).toEqual([stdout.trim()]);
    }
  });

  it("takes the proxy's port before any program can", async () => {
    const manager = await open({});
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    const squat = 'import socket\nsocket.socket().bind(("127.0.0.1", 3128))';
    expect((await sandbox.runCode(squat, { language: "python" })).stderr).toContain("Address already in use");
  });

  it("reaches what a change opens, with programs that start before and after it", async () => {
    const manager = await open({ allowedPorts: [port] });
    const sandbox = await manager.startSandbox("s");
    const until = `until curl -s -m 5 http://${HOST}:${port}/there | grep GET; do sleep 0.05; done`;
    const running = sandbox.exec(["sh", "-c", until]);
    expect((await sandbox.exec(["env"])).stdout).toContain("SANDBOX_NETWORK=none");
    await manager.changeEgress("s", { allow: [HOST] });
    expect((await running).stdout).toBe("GET /there\n");
    expect((await sandbox.exec(curl("/there"))).stdout).toBe("GET /there");
    expect((await sandbox.exec(["env"])).stdout).not.toContain("SANDBOX_NETWORK");
  });

  it("is reached by programs of every language", async () => {
    const manager = await open(allowed());
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    const url = JSON.stringify(`http://${HOST}:${port}/there`);
    const python = `import urllib.request\nprint(urllib.request.urlopen(${url}).read().decode())`;
    const javascript = `console.log(await (await fetch(${url})).text())`;
    for (const [language, code] of [
      ["python", python],
      ["javascript", javascript],
      ["typescript", javascript],
    ] as const) {
      // Twice: the second time an interpreter is there already.
      for (let round = 0; round < 2; round++) {
        const result = await sandbox.runCode(code, { language });
        expect({ language, stdout: result.stdout, stderr: result.stderr }).toEqual({
          language,
          stdout: "GET /there\n",
          stderr: "",
        });
      }
    }
  });
});

describe("a service of this host", () => {
  let service: Server;
  let at: number;
  const NAME = "host.skerry.internal";

  beforeAll(async () => {
    service = createServer((request, response) => response.end(`service ${request.url}`));
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    at = (service.address() as AddressInfo).port;
  });
  afterAll(() => void service.close());
  const ask = (name = NAME, wanted = at) => ["curl", "-sS", "-m", "10", `http://${name}:${wanted}/there`];

  it("is reached under one name at the port that a rule names, and no other is", async () => {
    const manager = await open({ allowedDomains: [`${NAME}:${at}`] });
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    expect((await sandbox.exec(ask())).stdout).toBe("service /there");
    expect((await sandbox.exec(ask(NAME, port))).network!.denied).toEqual([
      `port ${port} of ${NAME} is not allowed by rule sandbox.network.allowedPorts`,
    ]);
    for (const name of ["127.0.0.1", "localhost"])
      expect((await sandbox.exec([...ask(name), "--noproxy", ""])).stdout).toContain(
        "is not allowed by rule",
      );
  });

  it("is opened and closed while a session runs", async () => {
    const manager = await open({});
    const sandbox = await manager.startSandbox("s");
    const change = (kind: "allow" | "deny") => manager.changeEgress("s", { [kind]: [`${NAME}:${at}`] });
    await change("allow");
    expect((await sandbox.exec(ask())).stdout).toBe("service /there");
    await change("deny");
    expect((await sandbox.exec(ask())).stdout).toContain(`${NAME} is denied by rule egress deny ${NAME}`);
    await change("allow");
    expect((await sandbox.exec(ask())).stdout).toBe("service /there");
    await expect(manager.changeEgress("s", { allow: ["127.0.0.1"] })).rejects.toThrow(
      /"host.skerry.internal:PORT"/,
    );
    await expect(manager.changeEgress("s", { allow: ["localhost"] })).rejects.toThrow(
      /"host.skerry.internal:PORT"/,
    );
  });

  it("takes the policy's word as well", async () => {
    const policyFor = (domains: string) =>
      parsePolicy(
        `policies:
  tools: {shell_exec: {risk_level: high}}
  agent_roles: {dev: {tools: [shell_exec], network_access: true}}
network: {allowlist: {domains: ${domains}}}`,
        "p.yaml",
      );
    const run = async (policy: ReturnType<typeof parsePolicy>) => {
      const manager = await open({ allowedPorts: [port] }, { policy, securityMode: "permissive" });
      return (await manager.execute({ role: "dev", argv: ask() })).stdout;
    };
    expect(await run(policyFor(`["${NAME}:${at}"]`))).toBe("service /there");
    expect(await run(policyFor("[api.example]"))).toContain("is not allowed by rule p.yaml");
  });

  it("is where a package index of this host's loopback is, and its password stays here", async () => {
    process.env.PIP_INDEX_URL = `http://me:the-password-of-pip@127.0.0.1:${at}/simple`;
    try {
      const manager = await open({ allow: ["pip"] });
      const sandbox = await manager.startSandbox("s", { ephemeral: true });
      const script = 'curl -sS "$PIP_INDEX_URL/x/"; env; cat /proc/self/environ';
      const { stdout } = await sandbox.exec(["sh", "-c", script]);
      expect(stdout).toContain("service /simple/x/");
      expect(stdout).toContain(`PIP_INDEX_URL=http://${NAME}:${at}/simple\n`);
      expect(stdout).not.toContain("the-password-of-pip");
    } finally {
      delete process.env.PIP_INDEX_URL;
    }
  });
});

describe("every public host", () => {
  it("does not open this machine, and says what is shut", async () => {
    const records: AuditRecord[] = [];
    const audit = new AuditLogger({ sinks: [createCallbackSink((record) => void records.push(record))] });
    const manager = await open({ internet: true, allowedPorts: [port] }, { audit });
    const sandbox = await manager.startSandbox("s", { ephemeral: true });
    const rule = "is not allowed by rule sandbox.network.allowedIps";
    expect((await sandbox.exec(curl())).stdout).toContain(`${HOST} (loopback) ${rule}`);
    expect((await sandbox.exec(curl("/", "169.254.169.254"))).stdout).toContain(`(metadata) ${rule}`);
    expect((await sandbox.exec(["env"])).stdout).not.toContain("SANDBOX_NETWORK=none");
  });
});

describe("rules that change while a session runs", () => {
  it("let it reach more", async () => {
    const manager = await open({ allowedPorts: [port], allowedIps: [`${HOST}/32`] });
    const sandbox = await manager.startSandbox("s");
    const other = () => sandbox.exec(curl("/", "localhost.example"));
    expect((await other()).stdout).toContain("localhost.example is not allowed by rule");
    expect(await manager.changeEgress("s", { allow: ["localhost.example"], deny: [] })).toBe(1);
    // It does not exist: that is another trouble.
    expect((await other()).stdout).not.toContain("not allowed");
  });

  it("close what is open to a host that is no longer allowed", async () => {
    const manager = await open(allowed());
    const sandbox = await manager.startSandbox("s");
    const running = sandbox.exec(curl("/never-ends"));
    await waitUntil(async () => (await connections()) > 0);
    await manager.changeEgress("s", { allow: [], deny: [HOST] });
    expect((await running).exitCode).not.toBe(0);
    expect((await sandbox.exec(curl())).stdout).toContain(`${HOST} is denied by rule egress deny ${HOST}`);
  });

  function connections(): Promise<number> {
    return new Promise((resolve) => origin.getConnections((_, count) => resolve(count)));
  }
});

describe("a call that a policy lets out", () => {
  const policy = (role: string) =>
    parsePolicy(
      `
policies:
  default: { max_execution_time: 30s }
  tools:
    shell_exec: { risk_level: high }
  agent_roles:
    fetcher: { inherits: default, tools: [shell_exec], network_access: true }
    reader: { inherits: default, tools: [shell_exec], network_access: false }
network:
  default: none
  allowlist: { enabled: true, ips: [${HOST}/32] }
`,
      `${role}.yaml`,
    );

  it("reaches what its role may, and no other role does", async () => {
    const records: AuditRecord[] = [];
    const audit = new AuditLogger({ sinks: [createCallbackSink((record) => void records.push(record))] });
    const metrics = await createMetrics();
    const manager = await open(
      { allowedPorts: [port] },
      { policy: policy("roles"), securityMode: "permissive", audit, metrics },
    );
    const run = (role: string) => manager.execute({ sessionId: "s", role, argv: curl("/there") });
    expect(await run("fetcher")).toMatchObject({ success: true, stdout: "GET /there" });
    const refused = await run("reader");
    expect(refused.stdout).toContain("roles.yaml: policies.agent_roles.reader.network_access");
    expect(await run("fetcher")).toMatchObject({ success: true, stdout: "GET /there" });
    await audit.flush();

    const network = records.filter(({ event_type: type }) => type === "network");
    expect(network.map(({ result }) => result)).toEqual(["success", "denied", "success"]);
    expect(network[0]).toMatchObject({
      session_id: "s",
      policy_rule: expect.stringContaining("roles.yaml: network.allowlist.ips[0]"),
      details: expect.objectContaining({ host: HOST, port, address: HOST, method: "GET", path: "/there" }),
    });
    const [first] = records.filter(({ event_type: type }) => type === "sandbox_execution");
    expect(first!.network_bytes_recv).toBe(network[0]!.network_bytes_recv);
    expect(first!.network_bytes_sent).toBe(network[0]!.network_bytes_sent);
    const text = await metrics.text();
    expect(text).toContain('sandbox_network_connections_total{verdict="allowed"} 2');
    expect(text).toContain('sandbox_network_connections_total{verdict="denied"} 1');
    await audit.close();
  });
});

describe("calls of several roles in one session", () => {
  const policy = () =>
    parsePolicy(
      `
policies:
  tools:
    shell_exec: { risk_level: high }
  agent_roles:
    offline: { tools: [shell_exec], network_access: false }
    online: { tools: [shell_exec], network_access: true }
network:
  allowlist: { ips: [${HOST}] }
`,
      "roles.yaml",
    );

  it("do not get out because another one may", async () => {
    const manager = await open({ allowedPorts: [port] }, { policy: policy(), securityMode: "permissive" });
    const fetch = `curl -s -m 5 -x http://127.0.0.1:3128 http://${HOST}:${port}/got || echo no`;
    const running = manager.execute({
      sessionId: "s",
      role: "offline",
      // Until the other call has opened egress, and for a while after that one has ended.
      command: `until curl -s -o /dev/null http://127.0.0.1:3128/; do sleep 0.05; done; for i in 1 2 3 4 5; do ${fetch}; echo; sleep 0.2; done`,
    });
    const online = await manager.execute({ sessionId: "s", role: "online", argv: curl("/got") });
    // Both run: what can be reached is what both may.
    expect(online.stdout).toContain("roles.yaml: policies.agent_roles.offline.network_access");
    const { stdout } = await running;
    expect(stdout).toContain("roles.yaml: policies.agent_roles.offline.network_access");
    expect(stdout).not.toContain("GET /got");
  });

  it("are refused with a secret that they could not use", async () => {
    const secrets = [{ name: "TOKEN", value: "a-secret-value", hosts: ["api.example"] }];
    const manager = await open({}, { policy: policy(), securityMode: "permissive", secrets });
    for (const role of ["offline", "online"]) {
      await expect(manager.execute({ role, argv: ["true"] })).rejects.toMatchObject({
        code: "POLICY_DENIED",
        message: "The secret TOKEN is for api.example, which no rule allows",
      });
    }
  });
});

describe("a change of what a session reaches", () => {
  it.each(["https://evil.example", "evil.example:80", " evil.example", "", "a b", "*.*"])(
    "is refused for what is no host: %j",
    async (host) => {
      const manager = await open(allowed());
      await manager.startSandbox("s");
      await expect(manager.changeEgress("s", { deny: [host] })).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    },
  );

  it("holds in every spelling, for ranges, and for the session's next sandbox", async () => {
    const manager = await open({ ...allowed(), allowedDomains: ["evil.example"] });
    await manager.startSandbox("s");
    await manager.changeEgress("s", { deny: ["ＥＶＩＬ.example."] });
    await manager.changeEgress("s", { deny: ["127.0.0.0/24"] });
    await manager.cleanupSession("s");
    const sandbox = await manager.startSandbox("s");
    expect((await sandbox.exec(curl("/", "evil.example"))).stdout).toContain(
      "evil.example is denied by rule egress deny evil.example",
    );
    expect((await sandbox.exec(curl())).stdout).toContain("is denied by rule egress deny 127.0.0.0/24");
    await manager.changeEgress("s", { allow: ["127.0.0.0/24"] });
    expect((await sandbox.exec(curl("/there"))).stdout).toBe("GET /there");
  });

  it("takes one list, and neither nothing nor something else", async () => {
    const manager = await open(allowed());
    await manager.startSandbox("s");
    for (const change of [{}, undefined, ["a.example"], { deny: "a.example" }]) {
      await expect(manager.changeEgress("s", change as never)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
  });
});

describe("what cannot be enforced", () => {
  it("is refused on a backend that cannot tell hosts apart", async () => {
    const manager = await open(allowed(), { backend: "subprocess" });
    await expect(manager.startSandbox("s")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it.each(["*", "*.com", "*.co.uk"])("is refused as a host: %s", async (name) => {
    await expect(open({ allowedDomains: [name] })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("is refused as a secret for a host that may not be reached", async () => {
    const secrets = [{ name: "TOKEN", value: "a-secret-value", hosts: ["api.example"] }];
    const manager = await open({}, { secrets });
    await expect(manager.startSandbox("s")).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "The secret TOKEN is for api.example, which no rule allows",
    });
  });
});

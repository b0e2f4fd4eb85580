import { describe, expect, it } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import { DEFAULT_CONFIG } from "./defaults.js";
import { resolveConfig } from "./resolve.js";
import { loadConfigSchema } from "./schema.js";

const schema = await loadConfigSchema();
const parseConfig = (input: unknown, source = "configuration") => resolveConfig(input, { schema, source });

function problemsOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(SandboxError);
    expect((error as SandboxError).code).toBe("CONFIG_INVALID");
    return (error as SandboxError).message;
  }
  throw new Error("expected an error");
}

describe("a valid configuration", () => {
  it("is the defaults when it is empty", () => {
    expect(parseConfig({})).toEqual(DEFAULT_CONFIG);
    expect(parseConfig({ sandbox: {} })).toEqual(DEFAULT_CONFIG);
    expect(parseConfig({ sandbox: { backends: { opensandbox: { vke: { tos: {} } } } } })).toEqual(
      DEFAULT_CONFIG,
    );
  });

  it("denies by default: no domain, no host path to write, no secret place to read", () => {
    const { network, filesystem, backends } = DEFAULT_CONFIG.sandbox;
    expect(network).toMatchObject({
      allowedDomains: [],
      allowedIps: [],
      requests: [],
      allowLocalBinding: false,
    });
    expect(network.allowedPorts).toEqual([80, 443]);
    expect(filesystem.allowWrite).toEqual([]);
    expect(filesystem.denyRead).toEqual(expect.arrayContaining(["~/.ssh", "~/.gnupg", "~/.aws", "~/.netrc"]));
    expect(filesystem.denyWrite).toEqual([".env", "*.pem"]);
    expect(backends.docker.networkMode).toBe("none");
  });

  it("knows requests that are narrowed, and the network's limits", () => {
    const { network } = parseConfig({
      sandbox: {
        network: {
          allowedDomains: ["api.example.com"],
          allowedIps: ["10.1.0.0/16", "::1"],
          requests: [
            { host: "files.example.com", methods: ["GET"], paths: ["/public/**"] },
            { host: "api.example.com", ports: [8443] },
          ],
          upstreamCa: "~/ca.pem",
          limits: { bytes: "1gb", idle: "30s" },
        },
      },
    }).sandbox;
    expect(network).toMatchObject({
      allowedIps: ["10.1.0.0/16", "::1"],
      requests: [
        { host: "files.example.com", methods: ["GET"], paths: ["/public/**"] },
        { host: "api.example.com", ports: [8443] },
      ],
      upstreamCa: "~/ca.pem",
      limits: { connections: 128, bytes: 1024 ** 3, idleMs: 30_000 },
    });
  });

  it("finds a secret in the variable of its name unless told otherwise", () => {
    const { secrets } = parseConfig({
      sandbox: {
        secrets: {
          GITHUB_TOKEN: { hosts: ["api.github.com"] },
          KEY: { hosts: ["*.example.com"], file: "/run/key", in: ["query"] },
        },
      },
    }).sandbox;
    expect(secrets).toEqual({
      GITHUB_TOKEN: { hosts: ["api.github.com"], env: "GITHUB_TOKEN", in: ["header"] },
      KEY: { hosts: ["*.example.com"], file: "/run/key", in: ["query"] },
    });
  });

  it("says why a name is too wide", () => {
    const message = (name: string) => {
      try {
        parseConfig({ sandbox: { network: { allowedDomains: [name] } } });
      } catch (error) {
        return (error as Error).message;
      }
      return "taken";
    };
    expect(["*", "*.com", "*.co.uk", "*.example.co.uk", "example.com"].map(message)).toEqual([
      "configuration: sandbox.network.allowedDomains[0]: this would allow every host",
      "configuration: sandbox.network.allowedDomains[0]: a wildcard for a whole top-level domain is too wide: anyone can register a name under com",
      "configuration: sandbox.network.allowedDomains[0]: this wildcard is too wide: anyone can register a name under co.uk",
      "taken",
      "taken",
    ]);
  });

  it("has durations in milliseconds, and sizes in MiB only where the user set them", () => {
    const { sandbox } = parseConfig({
      sandbox: {
        runtime: { timeout: "5m", idleTimeout: "never", maxAge: 60 },
        limits: { memory: "1gb", cpus: 0.5, pids: 64, fileSize: "512kb", output: "1mb" },
      },
    });
    expect(sandbox.runtime).toEqual({
      cleanupOnExit: true,
      timeoutMs: 300_000,
      idleTimeoutMs: null,
      maxAgeMs: 60_000,
    });
    expect(sandbox.limits).toEqual({
      memoryMb: 1024,
      cpus: 0.5,
      pids: 64,
      fileSizeMb: 0.5,
      outputBytes: 1_048_576,
    });
  });

  it("takes the documents' example for OpenSandbox, under either name", () => {
    const block = {
      mode: "vke",
      vke: { serverUrl: "https://osb.example.com", apiKey: "k", tos: { enabled: false } },
      runtime: { timeout: 60, cpu: "2", memory: "4Gi" },
    };
    const alias = parseConfig({ sandbox: { backend: "opensandbox", opensandbox: block } });
    expect(alias).toEqual(
      parseConfig({ sandbox: { backend: "opensandbox", backends: { opensandbox: block } } }),
    );
    expect(alias.sandbox.backends.opensandbox).toEqual({
      ...DEFAULT_CONFIG.sandbox.backends.opensandbox,
      mode: "vke",
      vke: {
        ...DEFAULT_CONFIG.sandbox.backends.opensandbox.vke,
        serverUrl: "https://osb.example.com",
        apiKey: "k",
        tos: { enabled: false, mountPath: "/tos", pvcName: "skerry-tos-pvc" },
      },
      runtime: { timeoutMs: 60_000, cpu: "2", memory: "4Gi" },
    });
  });

  it("keeps the block of a backend from outside as it was written", () => {
    const options = { schema, source: "test", extraBackends: ["mine"] };
    const { backends } = resolveConfig(
      { sandbox: { backends: { mine: { anything: [1] } } } },
      options,
    ).sandbox;
    expect(backends.mine).toEqual({ anything: [1] });
    expect(backends.docker).toEqual(DEFAULT_CONFIG.sandbox.backends.docker);
  });

  it("cannot be changed afterwards", () => {
    const { network } = parseConfig({ sandbox: { network: { allowedDomains: ["a.example"] } } }).sandbox;
    expect(() => (network.allowedDomains as string[]).push("b.example")).toThrow(TypeError);
    expect(() => (DEFAULT_CONFIG.sandbox.filesystem.denyRead as string[]).pop()).toThrow(TypeError);
  });
});

describe("an invalid configuration", () => {
  it.each<[string, unknown, string]>([
    [
      "a misspelt key",
      { sandbox: { netwrok: {} } },
      'c.json: sandbox.netwrok: unknown key, did you mean "network"?',
    ],
    [
      "a key in the style of Python",
      { sandbox: { network: { allowed_domains: [] } } },
      'c.json: sandbox.network.allowed_domains: unknown key, did you mean "allowedDomains"?',
    ],
    [
      "a block at the wrong level",
      { network: {} },
      'c.json: network: unknown key, did you mean "sandbox.network"?',
    ],
    [
      "a key like no other",
      { sandbox: { backends: { zebra: {} } } },
      "c.json: sandbox.backends.zebra: unknown key, expected one of bubblewrap, srt, docker, gvisor, opensandbox",
    ],
    [
      "a setting of containers for gvisor alone",
      { sandbox: { backends: { gvisor: { image: "a:1" } } } },
      'c.json: sandbox.backends.gvisor.image: unknown key, gvisor takes it from "sandbox.backends.docker.image"',
    ],
    [
      "a misspelt key in a language",
      { sandbox: { languages: { python: { preloda: [] } } } },
      'c.json: sandbox.languages.python.preloda: unknown key, did you mean "preload"?',
    ],
    [
      "a misspelt key under the alias, by the name the user wrote",
      { sandbox: { opensandbox: { mod: "vke" } } },
      'c.json: sandbox.opensandbox.mod: unknown key, did you mean "mode"?',
    ],
    [
      "the same block twice",
      { sandbox: { opensandbox: {}, backends: { opensandbox: {} } } },
      "c.json: sandbox.opensandbox: the same block is also given as sandbox.backends.opensandbox",
    ],
    [
      "an unknown mode",
      { sandbox: { mode: "global" } },
      'c.json: sandbox.mode: Invalid option: expected one of "per-session"|"shared"|"disabled"',
    ],
    [
      "text for a switch",
      { sandbox: { enabled: "no" } },
      "c.json: sandbox.enabled: expected boolean, received string",
    ],
    ["a list at the top", [], "c.json: expected object, received array"],
    ["nothing", null, "c.json: expected object, received null"],
    [
      "an item of the wrong type",
      { sandbox: { filesystem: { denyRead: ["~/.ssh", 5] } } },
      "c.json: sandbox.filesystem.denyRead[1]: expected string, received number",
    ],
    [
      "a language name that is not one",
      { sandbox: { languages: { "../x": {} } } },
      'c.json: sandbox.languages["../x"]: expected a language\'s name in lower case',
    ],
  ])("names %s", (_, input, message) => {
    expect(problemsOf(() => parseConfig(input, "c.json"))).toBe(message);
  });

  it.each<[string, unknown]>([
    ["a timeout of zero", { runtime: { timeout: 0 } }],
    ["a timeout in parsecs", { runtime: { timeout: "5 parsecs" } }],
    ["an idle timeout of zero", { runtime: { idleTimeout: "0s" } }],
    ["memory below a mebibyte", { limits: { memory: 512 } }],
    ["no processes", { limits: { pids: 0 } }],
    ["half a process", { limits: { pids: 1.5 } }],
    ["no processor", { limits: { cpus: 0 } }],
    ["NaN processors", { limits: { cpus: Number.NaN } }],
    ["an empty backend", { backend: "" }],
    ["a NUL in a path", { filesystem: { allowRead: ["/a\0b"] } }],
    ["an address for a domain", { network: { allowedDomains: ["https://example.com"] } }],
    ["a domain with a port", { network: { allowedDomains: ["example.com:443"] } }],
    ["every domain", { network: { allowedDomains: ["*"] } }],
    ["a whole top-level domain", { network: { allowedDomains: ["*.com"] } }],
    ["every name of a country's companies", { network: { allowedDomains: ["*.co.uk"] } }],
    ["every page of a public host", { network: { allowedDomains: ["*.github.io"] } }],
    ["an address among the names", { network: { allowedDomains: ["10.0.0.1"] } }],
    ["a short address among the names", { network: { allowedDomains: ["127.1"] } }],
    ["every address", { network: { allowedIps: ["0.0.0.0/0"] } }],
    ["half of all addresses", { network: { allowedIps: ["::/1"] } }],
    ["an address with a zone", { network: { allowedIps: ["fe80::1%eth0"] } }],
    ["a range with too many bits", { network: { deniedIps: ["10.0.0.0/33"] } }],
    ["port 0", { network: { allowedPorts: [0] } }],
    ["a port beyond 16 bits", { network: { deniedPorts: [65536] } }],
    ["a port as a word", { network: { allowedPorts: ["https"] } }],
    ["a request without a host", { network: { requests: [{ methods: ["GET"] }] } }],
    ["requests to every host", { network: { requests: [{ host: "*" }] } }],
    ["a method in lower case", { network: { requests: [{ host: "a.example", methods: ["get"] }] } }],
    ["tunnels as requests", { network: { requests: [{ host: "a.example", methods: ["CONNECT"] }] } }],
    ["no method at all", { network: { requests: [{ host: "a.example", methods: [] }] } }],
    ["a path that climbs", { network: { requests: [{ host: "a.example", paths: ["/a/../b"] }] } }],
    ["an encoded path", { network: { requests: [{ host: "a.example", paths: ["/a%2fb"] }] } }],
    ["a path with a query", { network: { requests: [{ host: "a.example", paths: ["/a?b"] }] } }],
    [
      "requests to a host that is allowed in whole",
      { network: { allowedDomains: ["*.example"], requests: [{ host: "a.b.example", methods: ["GET"] }] } },
    ],
    ["certificates in a relative place", { network: { upstreamCa: "ca.pem" } }],
    ["no connection at all", { network: { limits: { connections: 0 } } }],
    ["a secret in the file itself", { secrets: { TOKEN: { hosts: ["a.example"], value: "x" } } }],
    ["a secret without hosts", { secrets: { TOKEN: { hosts: [] } } }],
    ["a secret for everybody", { secrets: { TOKEN: { hosts: ["*.com"] } } }],
    ["a secret from two places", { secrets: { TOKEN: { hosts: ["a.example"], env: "T", file: "/t" } } }],
    ["a secret's name with a dash", { secrets: { "MY-TOKEN": { hosts: ["a.example"] } } }],
    ["a secret in a cookie jar", { secrets: { TOKEN: { hosts: ["a.example"], in: ["jar"] } } }],
    ["a wildcard in the middle", { network: { allowedDomains: ["a.*.com"] } }],
    ["the host's network for a container", { backends: { docker: { networkMode: "host" } } }],
    ["another container's network", { backends: { docker: { networkMode: "container:x" } } }],
    ["a server address that is a file", { opensandbox: { local: { serverUrl: "file:///etc/passwd" } } }],
    ["a mount path that is relative", { opensandbox: { vke: { tos: { mountPath: "tos" } } } }],
    ["users of the system in the range", { backends: { bubblewrap: { uidRange: { start: 0 } } } }],
    [
      "a range beyond 32 bits",
      { backends: { bubblewrap: { uidRange: { start: 4293000000, count: 16777216 } } } },
    ],
    ["a bootstrap file outside", { workspace: { bootstrapFiles: ["../secret"] } }],
    ["an init directory outside", { workspace: { initDirectory: "/etc" } }],
  ])("refuses %s", (_, sandbox) => {
    problemsOf(() => parseConfig({ sandbox }));
  });

  it("says what a duration may look like", () => {
    expect(problemsOf(() => parseConfig({ sandbox: { runtime: { idleTimeout: "0s" } } }, "c.json"))).toBe(
      'c.json: sandbox.runtime.idleTimeout: "0s" is not a duration: it must be longer than zero. ' +
        "Write seconds as a number, or a number with a unit: 250ms, 30s, 5m, 2h, 1d.",
    );
  });

  it("lists every problem at once", () => {
    expect(
      problemsOf(() => parseConfig({ sandbox: { bakend: "x", enabled: 1 }, sanbox: {} }, "c.yaml")),
    ).toBe(
      [
        "the configuration has 3 problems:",
        "  c.yaml: sandbox.enabled: expected boolean, received number",
        '  c.yaml: sandbox.bakend: unknown key, did you mean "backend"?',
        '  c.yaml: sanbox: unknown key, did you mean "sandbox"?',
      ].join("\n"),
    );
  });

  it("never shows a key's value", () => {
    const message = problemsOf(() =>
      parseConfig({ sandbox: { opensandbox: { local: { apiKey: ["s3cret"] } } } }),
    );
    expect(message).not.toContain("s3cret");
  });

  it.each(["__proto__", "constructor", "prototype"])("refuses the key %s anywhere", (key) => {
    for (const text of [`{"${key}":{}}`, `{"sandbox":{"languages":{"${key}":{"warm":true}}}}`]) {
      expect(problemsOf(() => parseConfig(JSON.parse(text)))).toContain("this key is not allowed");
    }
    expect(({} as Record<string, unknown>).warm).toBeUndefined();
  });

  it("refuses a file nested without end", () => {
    const text = `${'{"sandbox":'.repeat(5000)}1${"}".repeat(5000)}`;
    expect(problemsOf(() => parseConfig(JSON.parse(text)))).toContain("nested deeper than 32 levels");
  });
});

describe("the server's settings", () => {
  it("are a loopback address, an allowance for each key, and no other name or page, by default", () => {
    expect(parseConfig({ server: {} }).server).toEqual({
      host: "127.0.0.1",
      port: 7070,
      hosts: [],
      origins: [],
      insecure: false,
      leaseMs: 60_000,
      limits: { bodyBytes: 34 * 2 ** 20, concurrency: 64, requestsPerMinute: 6000 },
      sessions: { ttlMs: 24 * 3_600_000, maxPerOrg: 1000, startAhead: 8 },
      pool: { preload: ["python"], maxUses: 100, maxAgeMs: 3_600_000, acquireTimeoutMs: 30_000 },
      processes: { perSession: 32, logBytes: 64 * 2 ** 20 },
      terminals: { detachedMs: 3_600_000 },
      mcp: { sessionsPerKey: 100, idleMs: 3_600_000 },
      stopDeadlineMs: 30_000,
      logs: { level: "info" },
    });
  });

  it("are read with their units", () => {
    const { server } = parseConfig({
      server: {
        host: "::",
        port: 0,
        hosts: ["skerry.example.com", "[2001:db8::7]"],
        origins: ["https://console.example.com"],
        tls: { cert: "/etc/cert.pem", key: "~/key.pem" },
        store: "postgres://db.example.com/skerry",
        url: "https://skerry-1.example.com:7070",
        peerCa: "/etc/skerry/ca.pem",
        lease: "20s",
        limits: { body: "1mb" },
        sessions: { ttl: "never", startAhead: 0 },
        pool: { maxInstances: 1, preload: [], maxAge: "5m", acquireTimeout: "250ms" },
        mcp: { idle: "5m" },
        stopDeadline: "5s",
      },
    });
    expect(server).toMatchObject({
      tls: { cert: "/etc/cert.pem", key: "~/key.pem" },
      url: "https://skerry-1.example.com:7070",
      peerCa: "/etc/skerry/ca.pem",
      leaseMs: 20_000,
      limits: { bodyBytes: 2 ** 20, concurrency: 64 },
      sessions: { ttlMs: null, maxPerOrg: 1000, startAhead: 0 },
      pool: { maxInstances: 1, preload: [], maxUses: 100, maxAgeMs: 300_000, acquireTimeoutMs: 250 },
      mcp: { sessionsPerKey: 100, idleMs: 300_000 },
      stopDeadlineMs: 5000,
    });
  });

  it.each([
    ["a host that is a name", { host: "skerry.example.com" }, "server.host: expected an address"],
    ["a port out of range", { port: 70_000 }, "server.port: "],
    ["an allowed host with a port", { hosts: ["a.example:80"] }, "server.hosts[0]: expected a host"],
    ["an origin with a path", { origins: ["https://a.example/"] }, "server.origins[0]: expected an origin"],
    ["any origin at all", { origins: ["*"] }, "server.origins[0]: expected an origin"],
    ["an address for others with a path", { url: "https://a.example/x" }, "server.url: expected an origin"],
    [
      "an address for others that is no server's",
      { url: "ftp://a.example" },
      "server.url: expected an address",
    ],
    ["a lease that is over before it is prolonged", { lease: "1s" }, "server.lease: it must be from"],
    ["half of TLS", { tls: { cert: "/c.pem" } }, "server.tls.key: "],
    ["a body without a limit", { limits: { body: "4gb" } }, "server.limits.body: it must be"],
    ["logs without room", { processes: { logs: "1kb" } }, "server.processes.logs: it must be"],
    ["processes without end", { processes: { perSession: 1000 } }, "server.processes.perSession: "],
    ["a misspelt key", { orgins: [] }, 'server.orgins: unknown key, did you mean "origins"?'],
    ["sandboxes kept ready without a pool", { pool: { minInstances: 1 } }, "pool.minInstances: it means"],
    ["more kept ready than there may be", { pool: { minInstances: 3, maxInstances: 2 } }, "it is more than"],
    ["a pool of none", { pool: { maxInstances: 0 } }, "server.pool.maxInstances: "],
    ["an unknown level", { logs: { level: "loud" } }, "server.logs.level: "],
  ])("do not take %s", (_, server, problem) => {
    expect(problemsOf(() => parseConfig({ server }))).toContain(problem);
  });
});

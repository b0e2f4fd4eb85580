import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_CONFIG } from "./defaults.js";
import { resolveConfig } from "./resolve.js";
import { loadConfigSchema } from "./schema.js";

const schema = await loadConfigSchema();

function withEnv(env: Record<string, string>, input: unknown = {}, extraBackends: string[] = []) {
  const overrides = Object.entries(env).map(([variable, value]) => ({ variable, value }));
  return resolveConfig(input, { schema, source: "c.json", overrides, extraBackends }).sandbox;
}

const invalid = (message: string) => expect.objectContaining({ code: "CONFIG_INVALID", message });

describe("environment overrides", () => {
  it("set text, numbers, switches, durations and lists", () => {
    const sandbox = withEnv({
      SKERRY_SANDBOX__BACKEND: "docker",
      SKERRY_SANDBOX__ENABLED: "false",
      SKERRY_SANDBOX__LIMITS__PIDS: "64",
      SKERRY_SANDBOX__LIMITS__OPEN_FILES: "256",
      SKERRY_SANDBOX__RUNTIME__TIMEOUT: "5m",
      SKERRY_SANDBOX__RUNTIME__IDLE_TIMEOUT: "90",
      SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS: "a.example, b.example",
      SKERRY_SANDBOX__NETWORK__DENIEDDOMAINS: '["c.example"]',
      SKERRY_SANDBOX__FILESYSTEM__DENY_WRITE: "",
    });
    expect(sandbox).toEqual({
      ...DEFAULT_CONFIG.sandbox,
      backend: "docker",
      enabled: false,
      limits: { pids: 64, openFiles: 256 },
      runtime: { ...DEFAULT_CONFIG.sandbox.runtime, timeoutMs: 300_000, idleTimeoutMs: 90_000 },
      network: {
        ...DEFAULT_CONFIG.sandbox.network,
        allowedDomains: ["a.example", "b.example"],
        deniedDomains: ["c.example"],
        allowLocalBinding: false,
      },
      filesystem: { ...DEFAULT_CONFIG.sandbox.filesystem, denyWrite: [] },
    });
  });

  it("win over the file and leave the rest of it alone", () => {
    const file = { sandbox: { backend: "srt", opensandbox: { mode: "vke", vke: { apiKey: "file" } } } };
    const sandbox = withEnv({ SKERRY_SANDBOX__OPENSANDBOX__VKE__API_KEY: "12345" }, file);
    expect(sandbox.backend).toBe("srt");
    expect(sandbox.backends.opensandbox.mode).toBe("vke");
    expect(sandbox.backends.opensandbox.vke.apiKey).toBe("12345");
  });

  it("reach languages and the blocks of outside backends", () => {
    const sandbox = withEnv(
      {
        SKERRY_SANDBOX__LANGUAGES__PYTHON__PRELOAD: "numpy,pandas",
        SKERRY_SANDBOX__BACKENDS__MINE__API_URL: "http://x",
        SKERRY_SANDBOX__BACKENDS__MINE__RETRIES: "3",
      },
      {},
      ["mine"],
    );
    expect(sandbox.languages).toEqual({
      python: { warm: true, preload: ["numpy", "pandas"], freshHashSeed: false },
    });
    expect(sandbox.backends.mine).toEqual({ apiUrl: "http://x", retries: 3 });
  });

  it("set ports with commas or as JSON", () => {
    const ports = (value: string) =>
      withEnv({ SKERRY_SANDBOX__NETWORK__ALLOWED_PORTS: value }).network.allowedPorts;
    expect(ports("443, 8443")).toEqual([443, 8443]);
    expect(ports("[443,8443]")).toEqual([443, 8443]);
  });

  it("set a whole block as JSON, with single settings on top of it", () => {
    const sandbox = withEnv({
      SKERRY_SANDBOX__NETWORK__ALLOW_LOCAL_BINDING: "true",
      SKERRY_SANDBOX__NETWORK: '{"allowedDomains":["a.example"]}',
    });
    expect(sandbox.network).toMatchObject({
      allowedDomains: ["a.example"],
      deniedDomains: [],
      allowLocalBinding: true,
    });
  });

  it.each<[string, string, string, string]>([
    [
      "a misspelt setting",
      "SKERRY_SANDBOX__BAKEND",
      "x",
      "SKERRY_SANDBOX__BAKEND: unknown setting, did you mean SKERRY_SANDBOX__BACKEND?",
    ],
    [
      "a misspelt block",
      "SKERRY_SANDBOX__NETWROK__ALLOWED_DOMAINS",
      "x",
      "SKERRY_SANDBOX__NETWROK__ALLOWED_DOMAINS: unknown setting, did you mean SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS?",
    ],
    ["a block that does not exist", "SKERRY_ZEBRA__X", "x", "SKERRY_ZEBRA__X: unknown setting"],
    [
      "a setting below a value",
      "SKERRY_SANDBOX__BACKEND__X",
      "x",
      "SKERRY_SANDBOX__BACKEND__X: unknown setting",
    ],
    ["an empty name", "SKERRY___X", "x", "SKERRY___X: unknown setting"],
    [
      "a wrong value, under the variable's name",
      "SKERRY_SANDBOX__ENABLED",
      "maybe",
      "SKERRY_SANDBOX__ENABLED: expected boolean, received string",
    ],
    [
      "a broken list",
      "SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS",
      "[",
      "SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS: the list is not valid JSON",
    ],
    [
      "text for a block",
      "SKERRY_SANDBOX__NETWORK",
      "on",
      "SKERRY_SANDBOX__NETWORK: this is a block of settings: expected a JSON object",
    ],
    [
      "__proto__ in a block",
      "SKERRY_SANDBOX__NETWORK",
      '{"__proto__":{}}',
      "SKERRY_SANDBOX__NETWORK: the key __proto__ is not allowed",
    ],
  ])("refuse %s", (_, variable, value, message) => {
    expect(() => withEnv({ [variable]: value })).toThrow(invalid(message));
  });

  it("refuse two spellings of one setting", () => {
    expect(() => withEnv({ SKERRY_SANDBOX__STATE_DIR: "/a", SKERRY_SANDBOX__STATEDIR: "/b" })).toThrow(
      invalid("SKERRY_SANDBOX__STATE_DIR: sets the same as SKERRY_SANDBOX__STATEDIR"),
    );
  });

  it("do not hide what is wrong in the file", () => {
    expect(() =>
      withEnv({ SKERRY_SANDBOX__NETWORK__ALLOW_LOCAL_BINDING: "true" }, { sandbox: { network: 5 } }),
    ).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  it("give any list of domains back as it was, written with commas or as JSON", () => {
    const domains = fc.array(fc.domain(), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(domains, fc.boolean(), (list, json) => {
        const value = json ? JSON.stringify(list) : list.join(",");
        expect(withEnv({ SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS: value }).network.allowedDomains).toEqual(
          list,
        );
      }),
      { numRuns: 50 },
    );
  });

  it("end in a configuration or in CONFIG_INVALID, whatever the name and value", () => {
    const segment = fc.oneof(
      fc.constantFrom(
        "SANDBOX",
        "NETWORK",
        "BACKENDS",
        "OPENSANDBOX",
        "LANGUAGES",
        "LIMITS",
        "__PROTO__",
        "CONSTRUCTOR",
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 2, maxLength: 4 }),
        fc.oneof(fc.string(), fc.json()),
        (segments, value) => {
          try {
            withEnv({ [`SKERRY_${segments.join("__")}`]: value });
          } catch (error) {
            expect(error).toMatchObject({ code: "CONFIG_INVALID" });
          }
          expect(Object.keys(Object.prototype)).toEqual([]);
        },
      ),
    );
  });
});

import { describe, expect, it } from "vitest";
import { parseConfig } from "../../../core/config/index.js";
import { decideAddress, decideHost, decideRequest } from "./decide.js";
import { egressRulesOf, egressRulesOfDomains, joinRules } from "./from-config.js";
import { parseHost } from "./host.js";

const rulesOf = async (network: object) =>
  egressRulesOf((await parseConfig({ sandbox: { network } })).sandbox.network);
const host = (raw: string) => parseHost(raw)!;

describe("egressRulesOf", () => {
  it("allows nothing by default", async () => {
    expect(decideHost(await rulesOf({}), host("example.com"), 443)).toEqual({
      allowed: false,
      rule: "sandbox.network.allowedDomains",
      why: "this sandbox has no network: example.com was refused by rule sandbox.network.allowedDomains",
    });
  });

  it("names the entry that decided", async () => {
    const rules = await rulesOf({
      allowedDomains: ["a.example.com", "*.b.example.com"],
      deniedDomains: ["x.b.example.com"],
      allowedIps: ["10.0.0.0/8"],
      deniedPorts: [443],
      requests: [
        { host: "Files.Example.com", methods: ["GET"] },
        { host: "::FFFF:7F00:1", ports: [9000] },
      ],
    });
    const rule = (raw: string, port = 80) => decideHost(rules, host(raw), port).rule;
    expect([
      rule("y.b.example.com"),
      rule("x.b.example.com"),
      rule("10.1.1.1"),
      rule("a.example.com", 443),
    ]).toEqual([
      "sandbox.network.allowedDomains[1]",
      "sandbox.network.deniedDomains[0]",
      "sandbox.network.allowedIps[0]",
      "sandbox.network.deniedPorts[0]",
    ]);
    expect([rule("a.example.com", 22), rule("8.8.8.8"), rule("files.example.com")]).toEqual([
      "sandbox.network.allowedPorts",
      "sandbox.network.allowedIps",
      "sandbox.network.requests[0]",
    ]);
    const post = {
      host: host("files.example.com"),
      port: 80,
      method: "POST",
      path: "/",
      scheme: "http",
    } as const;
    expect(decideRequest(rules, post).allowed).toBe(false);
    expect(decideHost(rules, host("127.0.0.1"), 9000).allowed).toBe(true);
    expect(decideAddress(rules, host("127.0.0.1"), "127.0.0.1", 9000).allowed).toBe(true);
    expect(decideAddress(rules, host("127.0.0.1"), "127.0.0.1", 9001).allowed).toBe(false);
  });
});

describe("egressRulesOfDomains", () => {
  it("names the option", () => {
    const rules = egressRulesOfDomains(["API.example.com", "*.files.example.com"], "--allow-domain");
    expect(decideHost(rules, host("api.example.com"), 443).rule).toBe("--allow-domain API.example.com");
    expect(decideHost(rules, host("evil.example"), 443).why).toBe(
      "evil.example is not allowed by rule --allow-domain",
    );
    expect(decideHost(rules, host("api.example.com"), 22).allowed).toBe(false);
  });

  it.each<[string, string | RegExp]>([
    ["*", '--allow-domain "*": this would allow every host'],
    [
      "*.com",
      '--allow-domain "*.com": a wildcard for a whole top-level domain is too wide: anyone can register a name under com',
    ],
    ["192.0.2.7", '--allow-domain "192.0.2.7": this is an address; addresses are allowed by allowedIps'],
    ...["localhost", "LOCALHOST.", "db.localhost", "127.0.0.1", "::1"].map((name): [string, string] => [
      name,
      `--allow-domain "${name}": inside, this is the sandbox itself; for a service of this host write "host.skerry.internal:PORT"`,
    ]),
    [
      "localhost:5432",
      '--allow-domain "localhost:5432": inside, this is the sandbox itself; for a service of this host write "host.skerry.internal:5432"',
    ],
    ...["host.skerry.internal", "Host.Skerry.Internal:0", "host.skerry.internal:65536"].map(
      (name): [string, string] => [
        name,
        `--allow-domain "${name}": this name is for one port of this host at a time: "host.skerry.internal:8080"`,
      ],
    ),
    ["https://a.example", /expected a domain such as/],
    ["a.example:8080", /expected a domain such as/],
    ["", /expected a domain such as/],
    ["a\u001b[2J", /^--allow-domain "a\\u001b\[2J": expected a domain/],
  ])("refuses %j", (domain, message) => {
    const refused = expect(() => egressRulesOfDomains([domain], "--allow-domain"));
    refused.toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", hint: expect.stringContaining("api.example.com") }),
    );
    refused.toThrow(message);
  });
});

describe("joinRules", () => {
  it("allows what either allows and denies what either denies", async () => {
    const config = await rulesOf({
      allowedDomains: ["a.example.com"],
      deniedDomains: ["bad.example.com"],
      allowedPorts: [8443],
    });
    const joined = joinRules(
      config,
      egressRulesOfDomains(["b.example.com", "bad.example.com"], "--allow-domain"),
    );
    const isOpen = (raw: string, port = 8443) => decideHost(joined, host(raw), port).allowed;
    expect([
      isOpen("a.example.com"),
      isOpen("b.example.com"),
      isOpen("bad.example.com"),
      isOpen("b.example.com", 443),
    ]).toEqual([true, true, false, false]);
    expect(joined.origin).toBe("sandbox.network.allowedDomains");
  });
});

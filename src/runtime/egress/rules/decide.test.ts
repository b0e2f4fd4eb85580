import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSpecialAddress } from "./addresses.js";
import { decideAddress, decideHost, decideRequest, refuseHost } from "./decide.js";
import { type Host, hostText, parseHost } from "./host.js";
import type { EgressRules, RequestRule, RuleEntry } from "./rules.js";

type Lists = {
  [Key in keyof EgressRules]?: EgressRules[Key] extends readonly RuleEntry<infer T>[] | undefined
    ? readonly T[]
    : never;
};

/** Rules whose labels are the list and the place in it. */
function rules(lists: Lists, origin = "allowed"): EgressRules {
  const label = <T>(key: keyof Lists) =>
    ((lists[key] ?? []) as readonly T[]).map((value, index) => ({ value, rule: `${key}[${index}]` }));
  return {
    allowedDomains: label<string>("allowedDomains"),
    deniedDomains: label<string>("deniedDomains"),
    allowedIps: label<string>("allowedIps"),
    deniedIps: label<string>("deniedIps"),
    ...(lists.allowedPorts !== undefined && { allowedPorts: label<number>("allowedPorts") }),
    deniedPorts: label<number>("deniedPorts"),
    requests: label<RequestRule>("requests"),
    origin,
    ipsOrigin: "ips",
    portsOrigin: "ports",
  };
}

const host = (raw: string): Host => parseHost(raw)!;
const why = (set: EgressRules | EgressRules[], raw: string, port = 443, opaque = false) => {
  const verdict = decideHost(set, host(raw), port, { opaque });
  return `${verdict.allowed ? "yes" : "no"}: ${verdict.why}`;
};

describe("decideHost", () => {
  const set = rules({
    allowedDomains: ["api.example.com", "*.files.example.com", "EXAMPLE.org"],
    deniedDomains: ["*.internal.files.example.com"],
    allowedIps: ["192.0.2.7", "10.1.0.0/16", "2001:db8::/32"],
    deniedIps: ["10.1.2.0/24"],
    deniedPorts: [80],
    allowedPorts: [80, 443, 8080],
  });

  it.each([
    ["api.example.com", "yes: api.example.com is allowed by rule allowedDomains[0]"],
    ["API.example.com.", "yes: api.example.com is allowed by rule allowedDomains[0]"],
    ["a.b.files.example.com", "yes: a.b.files.example.com is allowed by rule allowedDomains[1]"],
    ["example.org", "yes: example.org is allowed by rule allowedDomains[2]"],
    ["files.example.com", "no: files.example.com is not allowed by rule allowed"],
    ["evil.example", "no: evil.example is not allowed by rule allowed"],
    ["www.api.example.com", "no: www.api.example.com is not allowed by rule allowed"],
    ["internal.files.example.com", "no: internal.files.example.com is denied by rule deniedDomains[0]"],
    ["x.internal.files.example.com", "no: x.internal.files.example.com is denied by rule deniedDomains[0]"],
    ["192.0.2.7", "yes: 192.0.2.7 is allowed by rule allowedIps[0]"],
    ["0xc0000207", "yes: 192.0.2.7 is allowed by rule allowedIps[0]"],
    ["::ffff:192.0.2.7", "yes: 192.0.2.7 is allowed by rule allowedIps[0]"],
    ["10.1.2.3", "no: 10.1.2.3 is denied by rule deniedIps[0]"],
    ["127.0.0.1", "no: 127.0.0.1 is not allowed by rule ips"],
    ["8.8.8.8", "no: 8.8.8.8 is not allowed by rule ips"],
  ])("%s — %s", (raw, expected) => {
    expect(why(set, raw)).toBe(expected);
  });

  it("looks at the port as well", () => {
    expect(why(set, "api.example.com", 8080)).toMatch(/^yes/);
    expect(why(set, "api.example.com", 22)).toBe(
      "no: port 22 of api.example.com is not allowed by rule ports",
    );
    expect(why(set, "api.example.com", 80)).toBe(
      "no: port 80 of api.example.com is denied by rule deniedPorts[0]",
    );
  });

  it("opens 80 and 443 where no rule names a port", () => {
    const silent = rules({ allowedDomains: ["a.example"] });
    expect([80, 443, 22, 8080].map((port) => why(silent, "a.example", port).slice(0, 3))).toEqual([
      "yes",
      "yes",
      "no:",
      "no:",
    ]);
  });

  it("without any set allows nothing", () => {
    expect(decideHost([], host("a.example"), 443).allowed).toBe(false);
    expect(decideHost(rules({}), host("a.example"), 443).allowed).toBe(false);
  });

  it("of several sets needs every one", () => {
    const first = rules({ allowedDomains: ["*.example.com"], allowedPorts: [443, 8443] }, "first");
    const second = rules({ allowedDomains: ["a.example.com", "b.example.org"] }, "second");
    expect(why([first, second], "a.example.com")).toMatch(/^yes/);
    expect(why([first, second], "a.example.com", 8443)).toMatch(/^yes/);
    expect(why([first, second], "a.example.com", 80)).toMatch(/^no: port 80/);
    expect(why([first, second], "c.example.com")).toBe("no: c.example.com is not allowed by rule second");
    expect(why([first, second], "b.example.org")).toBe("no: b.example.org is not allowed by rule first");
  });

  it("leaves to the other sets what a set that only denies does not say", () => {
    const denying = {
      ...rules({ deniedDomains: ["bad.example.com"], deniedIps: ["1.1.1.1"], allowedPorts: [443, 8443] }),
      deniesOnly: true,
    };
    const other = rules({ allowedDomains: ["*.example.com"] }, "other");
    expect(why([denying, other], "a.example.com")).toBe(
      "yes: a.example.com is allowed by rule allowedDomains[0]",
    );
    expect(why([denying, other], "a.example.com", 8443)).toMatch(/^yes/);
    expect(why([denying, other], "a.example.com", 22)).toBe(
      "no: port 22 of a.example.com is not allowed by rule ports",
    );
    expect(why([denying, other], "bad.example.com")).toMatch(/^no: .* is denied by rule deniedDomains\[0\]/);
    expect(why([denying, other], "evil.example")).toBe("no: evil.example is not allowed by rule other");
    expect(why(denying, "a.example.com")).toMatch(/^no:/);
    const about = (address: string) =>
      decideAddress([denying, other], host("a.example.com"), address, 443).allowed;
    expect([about("8.8.8.8"), about("1.1.1.1"), about("127.0.0.1")]).toEqual([true, false, false]);
    expect(decideAddress(denying, host("a.example.com"), "8.8.8.8", 443).allowed).toBe(false);
  });

  it("never takes a look-alike for the name", () => {
    const two = rules({ allowedDomains: ["example.com", "*.example.com"] });
    const label = fc
      .stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
      .filter((each) => !each.startsWith("xn--"));
    fc.assert(
      fc.property(label, label, (a, b) => {
        const isOpen = (raw: string) => decideHost(two, host(raw), 443).allowed;
        expect([isOpen("example.com"), isOpen(`${a}.example.com`), isOpen(`${a}.${b}.example.com`)]).toEqual([
          true,
          true,
          true,
        ]);
        for (const other of [
          `${a}example.com`,
          `${a}-example.com`,
          `example.com.z${a}`,
          `example.com.${a}.com`,
          `example.com-${a}.com`,
          `${b}.${a}example.com`,
          `example.${a}com`,
          `examplexcom.${a}.net`,
        ]) {
          expect([other, isOpen(other)]).toEqual([other, false]);
        }
      }),
    );
  });

  it("allows a name only where its last labels are those of the rule", () => {
    const two = rules({ allowedDomains: ["example.com", "*.example.org"] });
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.domain(), fc.webAuthority()),
        fc.constantFrom("", "example.com", ".example.org"),
        (text, end) => {
          const parsed = parseHost(text + end);
          if (parsed === undefined || !decideHost(two, parsed, 443).allowed) return;
          expect(hostText(parsed)).toMatch(/^(example\.com|[a-z0-9_.-]+\.example\.org)$/);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe("every public host", () => {
  const set = {
    ...rules({ deniedDomains: ["bad.example"], deniedIps: ["9.9.9.9"] }),
    internet: "--allow-internet",
  };
  const may = (raw: string, address: string, port = 443) =>
    decideHost(set, host(raw), port).allowed && decideAddress(set, host(raw), address, port).allowed;

  it.each<[string, string, number?]>([
    ["any.example", "8.8.8.8"],
    ["any.example", "2600::1", 80],
    ["8.8.8.8", "8.8.8.8"],
  ])("opens %s at %s", (raw, address, port) => {
    expect(may(raw, address, port)).toBe(true);
    expect(decideHost(set, host(raw), 443).rule).toBe("--allow-internet");
  });

  it.each<[string, string, number?]>([
    ["any.example", "8.8.8.8", 22],
    ["bad.example", "8.8.8.8"],
    ["any.example", "9.9.9.9"],
    ["9.9.9.9", "9.9.9.9"],
    ["localhost", "127.0.0.1"],
    ["host.skerry.internal", "127.0.0.1", 80],
    ["any.example", "127.0.0.1"],
    ["10.1.2.3", "10.1.2.3"],
    ["any.example", "169.254.169.254"],
    ["169.254.169.254", "169.254.169.254", 80],
    ["any.example", "fd00:ec2::254"],
    ["any.example", "64:ff9b::a9fe:a9fe"],
  ])("leaves %s at %s closed", (raw, address, port) => {
    expect(may(raw, address, port)).toBe(false);
  });

  it("is what a policy makes of it", () => {
    const policy = rules({ allowedDomains: ["api.example"] }, "policy");
    expect(why([set, policy], "api.example")).toMatch(/^yes/);
    expect(why([set, policy], "any.example")).toBe("no: any.example is not allowed by rule policy");
  });
});

describe("the host's own services", () => {
  const set = rules({
    requests: [{ host: "host.skerry.internal", ports: [5432] }],
    allowedDomains: ["*.skerry.internal"],
  });
  const at = (raw: string, address: string, port: number, sets: EgressRules | EgressRules[] = set) =>
    decideHost(sets, host(raw), port).allowed && decideAddress(sets, host(raw), address, port).allowed;

  it("are one port under one name", () => {
    expect(at("host.skerry.internal", "127.0.0.1", 5432)).toBe(true);
    expect(at("HOST.skerry.internal.", "::1", 5432)).toBe(true);
    for (const [name, address, port] of [
      ["host.skerry.internal", "127.0.0.1", 80],
      ["host.skerry.internal", "127.0.0.1", 443],
      ["other.skerry.internal", "127.0.0.1", 443],
      ["127.0.0.1", "127.0.0.1", 5432],
      ["evil.example", "127.0.0.1", 5432],
    ] as const)
      expect([name, port, at(name, address, port)]).toEqual([name, port, false]);
  });

  it("take every set that has a say", () => {
    const other = rules({ allowedDomains: ["host.skerry.internal"] }, "policy");
    expect(at("host.skerry.internal", "127.0.0.1", 5432, [set, other])).toBe(false);
    expect(at("host.skerry.internal", "127.0.0.1", 5432, [set, set])).toBe(true);
  });
});

describe("hosts that are allowed for some requests", () => {
  const set = rules({
    requests: [
      { host: "mirror.example", methods: ["GET", "HEAD"], paths: ["/simple/**"] },
      { host: "mirror.example", methods: ["POST"], paths: ["/upload"], ports: [8080] },
      { host: "whole.example", ports: [8443] },
      { host: "127.0.0.1", ports: [9000] },
    ],
  });
  const ask = (raw: string, port: number, method: string, path: string) =>
    decideRequest(set, { host: host(raw), port, method, path, scheme: "http" });

  it.each<[string, number, string, string, string]>([
    ["mirror.example", 80, "GET", "/simple/a?b", "requests[0]"],
    ["mirror.example", 443, "HEAD", "/simple/a/b", "requests[0]"],
    ["mirror.example", 8080, "POST", "/upload", "requests[1]"],
    ["whole.example", 8443, "DELETE", "/a/../b", "requests[2]"],
    ["127.0.0.1", 9000, "GET", "/", "requests[3]"],
  ])("%s:%i %s %s is allowed", (raw, port, method, path, rule) => {
    expect(ask(raw, port, method, path)).toMatchObject({ allowed: true, rule });
  });

  it("allows no body in a GET or HEAD, unless the whole host is allowed", () => {
    const at = (name: string, port: number, method: string, path: string) =>
      decideRequest(set, { host: host(name), port, method, path, scheme: "http", hasBody: true });
    const why =
      "GET http://mirror.example/simple/a has a body, which servers may take for a next request: rule requests[0] does not allow it";
    expect(at("mirror.example", 80, "GET", "/simple/a")).toEqual({
      allowed: false,
      rule: "requests[0]",
      why,
    });
    expect(at("mirror.example", 80, "HEAD", "/simple/a").allowed).toBe(false);
    expect(at("mirror.example", 8080, "POST", "/upload").allowed).toBe(true);
    expect(at("whole.example", 8443, "GET", "/simple/a").allowed).toBe(true);
  });

  it.each<[string, number, string, string, string]>([
    [
      "mirror.example",
      80,
      "POST",
      "/simple/a",
      "POST http://mirror.example/simple/a is not allowed by rule requests[0]",
    ],
    [
      "mirror.example",
      80,
      "get",
      "/simple/a",
      "get http://mirror.example/simple/a is not allowed by rule requests[0]",
    ],
    [
      "mirror.example",
      80,
      "GET",
      "/admin?x=/simple/",
      "GET http://mirror.example/admin is not allowed by rule requests[0]",
    ],
    [
      "mirror.example",
      80,
      "GET",
      "/simple/%2e%2e/admin",
      "GET http://mirror.example/simple/%2e%2e/admin has a path that servers read in different ways, which rule requests[0] does not allow",
    ],
    [
      "mirror.example",
      80,
      "POST",
      "/upload",
      "POST http://mirror.example/upload is not allowed by rule requests[0]",
    ],
    ["mirror.example", 22, "GET", "/simple/a", "port 22 of mirror.example is not allowed by rule ports"],
    ["whole.example", 443, "GET", "/", "port 443 of whole.example is not allowed by rule ports"],
    ["other.example", 80, "GET", "/simple/a", "other.example is not allowed by rule allowed"],
    ["127.0.0.1", 80, "GET", "/", "port 80 of 127.0.0.1 is not allowed by rule ports"],
  ])("%s:%i %s %s: %s", (raw, port, method, path, expected) => {
    expect(ask(raw, port, method, path)).toMatchObject({ allowed: false, why: expected });
  });

  it("are refused to a tunnel that cannot be read, unless the whole host is allowed", () => {
    expect(why(set, "mirror.example")).toMatch(/^yes/);
    expect(why(set, "mirror.example", 443, true)).toBe(
      "no: mirror.example is allowed for some requests only by rule requests[0], and requests inside TLS cannot be read",
    );
    expect(why(set, "whole.example", 8443, true)).toMatch(/^yes/);
  });

  it("show what the guest wrote on one short line", () => {
    const { why: line } = ask("mirror.example", 80, "GET", `/\u001b[2J\u202e${"x".repeat(10_000)}`);
    expect(line).toContain("/\\x1b[2J\\u{202e}xxx");
    expect(line.length).toBeLessThan(400);
    expect(refuseHost(set, `evil\r\n\0${"y".repeat(5000)}`).why).toMatch(
      /^"evil\\x0d\\x0a\\x00y{100,}…" is not the name of a host$/,
    );
  });
});

describe("decideAddress", () => {
  const set = rules({
    allowedDomains: ["api.example"],
    allowedIps: ["10.1.0.0/16"],
    deniedIps: ["10.1.2.0/24", "8.8.8.0/24"],
    deniedDomains: ["9.9.*"],
  });
  const about = (address: string) => decideAddress(set, host("api.example"), address, 443);

  it.each([
    ["127.0.0.1", "api.example resolves to 127.0.0.1 (loopback), which is not allowed by rule ips"],
    ["::1", "api.example resolves to ::1 (loopback), which is not allowed by rule ips"],
    [
      "169.254.169.254",
      "api.example resolves to 169.254.169.254 (metadata), which is not allowed by rule ips",
    ],
    ["10.2.0.1", "api.example resolves to 10.2.0.1 (private), which is not allowed by rule ips"],
    ["10.1.2.3", "api.example resolves to 10.1.2.3, which is denied by rule deniedIps[0]"],
    ["8.8.8.8", "api.example resolves to 8.8.8.8, which is denied by rule deniedIps[1]"],
    ["64:ff9b::808:808", "api.example resolves to 64:ff9b::808:808, which is denied by rule deniedIps[1]"],
    ["9.9.9.9", "api.example resolves to 9.9.9.9, which is denied by rule deniedDomains[0]"],
    ["nonsense", "api.example resolves to nonsense (not an address), which is not allowed by rule ips"],
  ])("%s: %s", (address, expected) => {
    expect(about(address)).toMatchObject({ allowed: false, why: expected });
  });

  it("allows public addresses and those that a rule names", () => {
    expect([about("1.1.1.1").rule, about("10.1.3.4").rule]).toEqual(["allowed", "allowedIps[0]"]);
    expect([about("1.1.1.1").allowed, about("10.1.3.4").allowed]).toEqual([true, true]);
  });

  it("refuses every special address that is not named, in every spelling", () => {
    const plain = rules({ allowedDomains: ["api.example"], allowedIps: ["8.0.0.0/8"] });
    fc.assert(
      fc.property(fc.oneof(fc.ipV4Extended(), fc.ipV6()), (raw) => {
        const parsed = parseHost(raw);
        if (parsed?.kind !== "address") return;
        // What the system would connect to for this text.
        const dialled = new URL(`http://${raw.includes(":") ? `[${raw}]` : raw}/`).hostname.replace(
          /[[\]]/g,
          "",
        );
        if (isSpecialAddress(dialled) === undefined) return;
        expect(decideHost(plain, parsed, 443).allowed).toBe(false);
        expect(decideAddress(plain, host("api.example"), parsed.address, 443).allowed).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});

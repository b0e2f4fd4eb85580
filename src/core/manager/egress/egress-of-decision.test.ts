import { expect, it } from "vitest";
import { PolicyEngine, parsePolicy } from "../../../guard/policy/index.js";
import { decideAddress, decideHost } from "../../../runtime/egress/rules/decide.js";
import { parseHost } from "../../../runtime/egress/rules/host.js";
import { egressRulesOfDecision } from "./egress-of-decision.js";

const engine = new PolicyEngine(
  parsePolicy(
    `policies:
  tools:
    run_code: {network_access: true}
    shell_exec: {network_access: true, allowed_domains: [own.example.com]}
    file_read: {}
network:
  allowlist:
    domains:
      - api.example.com
      - "*.files.example.com"
    ips: [10.1.0.0/16]
  denylist:
    domains: ["*.internal.*", "10.1.2.*"]
    ips: [198.51.100.0/24]
    ports: [22]
`,
    "/home/somebody/policy.yaml",
  ),
);
const rulesFor = async (tool: string) => egressRulesOfDecision((await engine.decide({ tool })).network);
const host = (raw: string) => parseHost(raw)!;

it("names the file and the line, and no directory of this machine", async () => {
  const rules = (await rulesFor("run_code"))!;
  const why = (raw: string, port = 443) => decideHost(rules, host(raw), port).why;
  expect([
    why("x.files.example.com"),
    why("a.internal.files.example.com"),
    why("api.example.com", 22),
    why("evil.example"),
    decideAddress(rules, host("api.example.com"), "198.51.100.7", 443).why,
    decideAddress(rules, host("api.example.com"), "10.1.2.3", 443).why,
  ]).toEqual([
    "x.files.example.com is allowed by rule policy.yaml: network.allowlist.domains[1] (line 10)",
    "a.internal.files.example.com is denied by rule policy.yaml: network.denylist.domains[0] (line 13)",
    "port 22 of api.example.com is denied by rule policy.yaml: network.denylist.ports[0] (line 15)",
    "evil.example is not allowed by rule policy.yaml: network (line 7)",
    "api.example.com resolves to 198.51.100.7, which is denied by rule policy.yaml: network.denylist.ips[0] (line 14)",
    "api.example.com resolves to 10.1.2.3, which is denied by rule policy.yaml: network.denylist.domains[1] (line 13)",
  ]);
});

it("has a tool's own hosts instead of everybody's", async () => {
  const rules = (await rulesFor("shell_exec"))!;
  expect(decideHost(rules, host("own.example.com"), 443).allowed).toBe(true);
  expect(decideHost(rules, host("api.example.com"), 443)).toMatchObject({
    allowed: false,
    rule: "policy.yaml: policies.tools.shell_exec.allowed_domains (line 4)",
  });
});

it("opens addresses that the policy names", async () => {
  const rules = (await rulesFor("run_code"))!;
  expect(decideAddress(rules, host("api.example.com"), "10.1.9.9", 443).allowed).toBe(true);
  expect(decideAddress(rules, host("api.example.com"), "10.2.9.9", 443).allowed).toBe(false);
  expect(decideHost(rules, host("10.1.9.9"), 443).allowed).toBe(true);
});

it("is nothing without network access", async () => {
  expect(await rulesFor("file_read")).toBeUndefined();
});

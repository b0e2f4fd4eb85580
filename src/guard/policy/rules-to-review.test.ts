import { expect, it } from "vitest";
import { parsePolicy } from "./parse-policy.js";
import { rulesToReview } from "./rules-to-review.js";

const TOOLS = `
policies:
  default: { denied_paths: ["*.pem"] }
  tools:
    run_code: { risk_level: medium, max_memory: 256mb, supported_languages: [python] }
    shell_exec: { risk_level: high, requires_confirmation: true, denied_commands: [reboot], allowed_commands: [ls] }
`;
const shown = (text: string) =>
  rulesToReview(parsePolicy(text, "p.yaml")).map(({ rule, value, kind }) => [kind, rule.path, value]);

it("are what grants and what refuses by itself, without limits and lists of what is allowed", () => {
  expect(shown(TOOLS)).toEqual([
    ["grant", "policies.tools.run_code", "run_code"],
    ["grant", "policies.tools.shell_exec", "shell_exec"],
    ["refusal", "policies.default.denied_paths[0]", "*.pem"],
    ["refusal", "policies.tools.shell_exec.denied_commands[0]", "reboot"],
    ["refusal", "policies.tools.shell_exec.requires_confirmation", "requires_confirmation"],
  ]);
});

it("are the roles' tools where there are roles, and the hosts of the network's block", () => {
  const text = `${TOOLS}  agent_roles:
    reader: { tools: [run_code] }
    coder: { inherits: [reader], tools: [run_code, shell_exec], denied_domains: ["*.internal.example"] }
network:
  allowlist: { domains: [api.example.com] }
  denylist: { ports: [25] }
`;
  expect(
    shown(text).filter(([, path]) => !path!.startsWith("policies.tools") && !path!.includes("default")),
  ).toEqual([
    ["grant", "policies.agent_roles.reader.tools[0]", "reader has run_code"],
    ["grant", "policies.agent_roles.coder.tools[0]", "coder has run_code"],
    ["grant", "policies.agent_roles.coder.tools[1]", "coder has shell_exec"],
    ["refusal", "policies.agent_roles.coder.denied_domains[0]", "*.internal.example"],
    ["grant", "network.allowlist.domains[0]", "api.example.com"],
    ["refusal", "network.denylist.ports[0]", "25"],
  ]);
  expect(shown(text).some(([, path]) => path === "policies.tools.run_code")).toBe(false);
});

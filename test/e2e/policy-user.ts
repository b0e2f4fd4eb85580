import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll } from "vitest";
import type { AuditRecord } from "../../src/guard/audit/index.js";
import { createUser, type User } from "./run-skerry.js";

const POLICY = `version: 1
policies:
  default:
    max_execution_time: 20s
  tools:
    run_code:
      supported_languages: [python, bash]
    shell_exec:
      denied_commands:
        - curl
      confirm_commands:
        - touch
    file_read:
      denied_paths: [.env]
  agent_roles:
    coder:
      tools: [run_code, shell_exec]
      max_file_size: 1MB
    reader:
      tools: [file_read]
`;
/** Where the policy denies curl. */
export const CURL = "policy.yaml:10 (policies.tools.shell_exec.denied_commands[0])";
/** Where it asks about touch. */
export const TOUCH = "policy.yaml:12 (policies.tools.shell_exec.confirm_commands[0])";

export let user: User;
export const write = (name: string, text: string) => writeFileSync(join(user.home, name), text);
/** The user's last audit record. */
export const lastRecord = () =>
  JSON.parse(user.skerry(["audit", "tail", "-n", "1", "--json"]).stdout) as AuditRecord;

/** The file has a user of its own with policies in their home. */
export function usePolicies(): void {
  beforeAll(() => {
    user = createUser();
    write("policy.yaml", POLICY);
    write("bad.yaml", "policies:\n  default:\n    max_memroy: 1GB\n  tools:\n    shel_exec: {}\n");
    write("open.yaml", "policies:\n  tools:\n    shell_exec:\n      max_file_size: 2MB\n");
    write("paths.yaml", "policies:\n  tools:\n    shell_exec:\n      denied_paths: [.env]\n");
    write("risk.yaml", "policies:\n  tools:\n    shell_exec:\n      max_risk: low\n");
    write("short.yaml", "policies:\n  tools:\n    shell_exec:\n      max_execution_time: 1s\n");
    write("asking.yaml", "policies:\n  tools:\n    shell_exec:\n      requires_confirmation: true\n");
    write("wild.sh", "echo start\necho hello > /etc/passwd\n");
  });
}

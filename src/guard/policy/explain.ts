import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import type { LimitName, PolicyDecision, SettingRule } from "./decision.js";
import type { RuleReference } from "./policy.js";

const MIB = 1024 * 1024;

/** How a limit is written for a person. */
const SHOW: Readonly<Record<LimitName, (value: number) => string>> = {
  timeoutMs: (ms) => `time ${ms / 1000} s`,
  memoryMb: (mb) => `memory ${size(mb * MIB)}`,
  cpus: (cores) => `cpu ${cores} ${cores === 1 ? "core" : "cores"}`,
  pids: (count) => `processes ${count}`,
  outputBytes: (bytes) => `output ${size(bytes)}`,
  fileSizeMb: (mb) => `file size ${size(mb * MIB)}`,
  workspaceMb: (mb) => `workspace ${size(mb * MIB)}`,
};

const WORDS = { allow: "allowed", confirm: "needs a confirmation", deny: "denied" } as const;

/** One line: the verdict, the reason, and the rule with its line. */
export function describeDecision({
  verdict,
  why,
  rule,
}: Pick<PolicyDecision, "verdict" | "why" | "rule">): string {
  return escapeUnsafe(`${WORDS[verdict]} by ${place(rule)}: ${why}`);
}

/** Everything: the verdict, every rule that had a say, the limits and where each comes from. */
export function explainDecision(decision: PolicyDecision): string {
  const lines = [describeDecision(decision), "", "rules:"];
  for (const each of decision.considered)
    lines.push(`  ${each.verdict.padEnd(7)} ${place(each.rule)}: ${each.why}`);
  const verdicts = new Set(decision.considered.map(({ verdict }) => verdict));
  if (verdicts.size > 1) lines.push("  rules disagree: the stricter one counts");
  lines.push("", "limits:");
  for (const [name, { rule, instead }] of Object.entries(decision.limitRules)) {
    const limit = name as LimitName;
    const show = SHOW[limit];
    lines.push(`  ${show(decision.limits[limit]!)} by ${place(rule)}`);
    if (instead !== undefined)
      lines.push(`    stricter than ${show(instead.value)} by ${place(instead.rule)}`);
  }
  if (Object.keys(decision.limitRules).length === 0) lines.push("  none of its own");
  lines.push(...settingLines(decision));
  return lines.map(escapeUnsafe).join("\n");
}

/** What is decided besides limits: the network always, the rest where a rule says so. */
function settingLines(decision: PolicyDecision): string[] {
  const { network_access: network, ...others } = decision.settingRules;
  const access = decision.network.access ? describeNetwork(decision) : "none";
  const lines = [
    `  network ${access}${network === undefined ? "" : ` by ${place(network.rule)}`}`,
    ...opposed("network", network),
  ];
  for (const [key, setting] of Object.entries(others)) {
    const name = key.replace("_enabled", "").replace("_", " ");
    lines.push(`  ${name} ${setting.value} by ${place(setting.rule)}`, ...opposed(name, setting));
  }
  return lines;
}

function opposed(name: string, setting: SettingRule | undefined): string[] {
  const instead = setting?.instead;
  return instead === undefined
    ? []
    : [`    stricter than ${name} ${instead.value} by ${place(instead.rule)}`];
}

function describeNetwork({ network }: PolicyDecision): string {
  const hosts = network.allowedDomains.map(({ value }) => value);
  return hosts.length === 0 ? "no host is allowed" : hosts.join(", ");
}

function place({ source, line, path }: RuleReference): string {
  return path === "built in" ? "a built-in rule" : `${source}:${line} (${path})`;
}

function size(bytes: number): string {
  for (const [unit, factor] of [
    ["GiB", 1024 ** 3],
    ["MiB", MIB],
    ["KiB", 1024],
  ] as const) {
    if (bytes >= factor) return `${Math.round((bytes / factor) * 100) / 100} ${unit}`;
  }
  return `${bytes} B`;
}

import { basename } from "node:path";
import { reportAudit, verifyAudit } from "../../../guard/audit/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { type LogOptions, loadPolicyFile, policyFileOf, readConfig, withLog } from "../../open/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";
import { describeVerification } from "./audit.js";
import { describeReport, type FullReport, unusedRules } from "./report-text.js";

export interface ReportCommandOptions extends LogOptions {
  readonly since?: Date;
  readonly until?: Date;
  readonly top?: number;
  readonly policy?: string;
}

const WEEK_MS = 7 * 24 * 3_600_000;
const BROKEN = new SandboxError("AUDIT_BROKEN", "").exitStatus;

/** `skerry audit report`: what a log says about a span of time, for the periodic review. */
export function report(options: ReportCommandOptions): Promise<number> {
  return withLog(options, async (directory, signal) => {
    const { since = new Date(Date.now() - WEEK_MS), until, top } = options;
    const rules = await loadRules(options);
    const read = await reportAudit(directory, {
      since,
      signal,
      ...(until !== undefined && { until }),
      ...(top !== undefined && { top }),
    });
    const chain = await verifyAudit(directory, { signal });
    const whole: FullReport = {
      since: since.toISOString(),
      until: until?.toISOString() ?? null,
      chain,
      ...read,
      ...(rules !== undefined && {
        policy: { file: rules.file, ...unusedRules(rules.rules, read, rules.file) },
      }),
    };
    const paint = paintFor(stdout, options.color);
    await stdout.write(
      options.json
        ? `${jsonText(whole)}\n`
        : describeReport(whole, describeVerification(chain, paint), paint),
    );
    return chain.ok ? 0 : BROKEN;
  });
}

/** Of the policy that is named, or the configuration's; undefined: there is none. */
async function loadRules(options: ReportCommandOptions) {
  const file = policyFileOf(await readConfig(options), options.policy);
  if (file === undefined) return undefined;
  const [policy, { rulesToReview }] = await Promise.all([
    loadPolicyFile(file),
    import("../../../guard/policy/index.js"),
  ]);
  return { file: basename(file), rules: rulesToReview(policy) };
}

export type {
  Consideration,
  LimitName,
  LimitRule,
  PolicyDecision,
  PolicyLimits,
  PolicyRequest,
  PolicyVerdict,
  RuledSetting,
  SettingRule,
  ViolationReason,
} from "./decision.js";
export { describeDecision, explainDecision } from "./explain.js";
export { loadPolicy, readPolicyText } from "./load-policy.js";
export { checkPolicy, parsePolicy } from "./parse-policy.js";
export { coversPath, matchesPath, pathGlob, resolveSandboxPath } from "./path-globs.js";
export type {
  Items,
  NetworkRules,
  Policy,
  PolicyProblem,
  Role,
  RuleBlock,
  RuleReference,
  Setting,
  Settings,
} from "./policy.js";
export { PolicyEngine } from "./policy-engine.js";
export { POLICY_PRESETS, type PolicyPreset } from "./presets.js";
export { type ReviewedRule, rulesToReview } from "./rules-to-review.js";
export { BUILT_IN_TOOLS, type Tier, type Tool } from "./tools.js";

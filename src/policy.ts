export {
  assess,
  type Finding,
  RISK_LEVELS,
  type RiskAssessment,
  type RiskLevel,
} from "./guard/analysis/index.js";
export {
  BUILT_IN_TOOLS,
  checkPolicy,
  describeDecision,
  explainDecision,
  loadPolicy,
  POLICY_TEMPLATE,
  type Policy,
  type PolicyDecision,
  PolicyEngine,
  type PolicyLimits,
  type PolicyProblem,
  type PolicyRequest,
  parsePolicy,
  type RuleReference,
} from "./guard/policy/index.js";

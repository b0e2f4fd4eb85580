export { assess, MAX_CODE_LENGTH, type RiskAssessment } from "./assess.js";
export { type Finding, MAX_FINDINGS } from "./findings.js";
export { RISK_LEVELS, type RiskLevel, rankOf, worse } from "./levels.js";

export { type ApprovalEvent, ApprovalService, type ExtraApprover } from "./approval-service.js";

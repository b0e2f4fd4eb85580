export { ExecutionLog } from "./execution-log.js";
export { type ExecutionSummary, toExecutionReply, toSummary } from "./execution-reply.js";
export { callOf, contextExecuteBody, executeBody } from "./execution-request.js";
export { plainJson, runExecution } from "./run-execution.js";

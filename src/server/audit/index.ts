export { AuditIndexer } from "./audit-indexer.js";
export { recordEvent } from "./record-event.js";

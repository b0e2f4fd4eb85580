import type { AccessRows } from "../http/index.js";

/** Every route of our own API and of its reference, and what it needs. */
export const API_ACCESS: AccessRows = {
  "GET /healthz": "anyone",
  "GET /readyz": "anyone",
  "GET /openapi.json": "anyone",
  "GET /docs": "anyone",
  "GET /docs/*": "anyone",
  "GET /metrics": "admin",
  "GET /v1/pool": "admin",
  "GET /v1/status": "admin",

  "POST /v1/sessions": "write",
  "GET /v1/sessions": "read",
  "GET /v1/sessions/:sessionId": "read",
  "DELETE /v1/sessions/:sessionId": "write",
  "POST /v1/sessions/:sessionId/renew": "write",
  "POST /v1/sessions/:sessionId/execute": "write",

  "POST /v1/sessions/:sessionId/processes": "write",
  "GET /v1/sessions/:sessionId/processes": "read",
  "GET /v1/sessions/:sessionId/processes/:id": "read",
  "GET /v1/sessions/:sessionId/processes/:id/logs": "read",
  "POST /v1/sessions/:sessionId/processes/:id/signal": "write",
  "DELETE /v1/sessions/:sessionId/processes/:id": "write",

  "POST /v1/sessions/:sessionId/terminals": "write",
  "GET /v1/sessions/:sessionId/terminals": "read",
  "GET /v1/sessions/:sessionId/terminals/:id": "read",
  "DELETE /v1/sessions/:sessionId/terminals/:id": "write",
  // A connection can also type.
  "GET /v1/sessions/:sessionId/terminals/:id/stream": "write",

  "GET /v1/sessions/:sessionId/files": "read",
  "GET /v1/sessions/:sessionId/files/*": "read",
  "PUT /v1/sessions/:sessionId/files/*": "write",
  "DELETE /v1/sessions/:sessionId/files/*": "write",
  "POST /v1/sessions/:sessionId/files/move": "write",
  "POST /v1/sessions/:sessionId/files/mkdir": "write",
  // Not beneath `files`, where it could be a file's address.
  "GET /v1/sessions/:sessionId/watch": "read",

  "POST /v1/sessions/:sessionId/contexts": "write",
  "GET /v1/sessions/:sessionId/contexts": "read",
  "DELETE /v1/sessions/:sessionId/contexts/:id": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/execute": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/interrupt": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/restart": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/checkpoint": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/rollback": "write",
  "POST /v1/sessions/:sessionId/contexts/:id/fork": "write",

  "POST /v1/sessions/:sessionId/snapshots": "write",
  "GET /v1/sessions/:sessionId/snapshots": "read",
  "DELETE /v1/sessions/:sessionId/snapshots/:id": "write",
  "POST /v1/sessions/:sessionId/snapshots/:id/restore": "write",
  "GET /v1/sessions/:sessionId/snapshots/:id/export": "read",
  "POST /v1/sessions/:sessionId/snapshots/import": "write",
  "POST /v1/sessions/:sessionId/fork": "write",

  // A key that runs code must not be able to open the network for it.
  "POST /v1/sessions/:sessionId/egress": "admin",

  // A request may change anything inside.
  "GET /v1/sessions/:sessionId/ports/:port/*": "write",
  "HEAD /v1/sessions/:sessionId/ports/:port/*": "write",
  "POST /v1/sessions/:sessionId/ports/:port/*": "write",
  "PUT /v1/sessions/:sessionId/ports/:port/*": "write",
  "PATCH /v1/sessions/:sessionId/ports/:port/*": "write",
  "DELETE /v1/sessions/:sessionId/ports/:port/*": "write",
  "OPTIONS /v1/sessions/:sessionId/ports/:port/*": "write",
  "GET /v1/sessions/:sessionId/tunnels/:port": "write",

  "GET /v1/executions": "read",
  "GET /v1/executions/:id": "read",
  "GET /v1/audit": "read",
  "GET /v1/audit/index": "read",
  "GET /v1/snapshots": "read",

  // The agent that asks must not be able to answer: its key has no such scope.
  "GET /v1/approvals": "approve",
  "POST /v1/approvals/:id/decide": "approve",
  "GET /v1/approvals/stream": "approve",
};

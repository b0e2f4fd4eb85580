/** Generated from the server's OpenAPI document: `npx vitest run packages/client/src/api-types.test.ts -u`. */

export interface paths {
    readonly "/healthz": {
        /** The process answers. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {string} */
                            readonly status: "ok";
                        };
                    };
                };
            };
        };
    };
    readonly "/readyz": {
        /** It takes work. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {string} */
                            readonly status: "ok";
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions": {
        /** List the org's sessions, the latest first. */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                    readonly state?: "active" | "ended";
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Session"][];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                        };
                    };
                };
            };
        };
        /** Make a session. Its sandbox starts in the background. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @description Left out: one of its own. */
                        readonly sessionId?: string;
                        /** @description A role of the policy, if the key may have it. */
                        readonly role?: string;
                        /** @description What isolates; left out: the configuration's. */
                        readonly backend?: string;
                        /** @description How long it lives; null: until it is deleted. Left out: server.sessions.ttl. */
                        readonly ttlMs?: number | null;
                        /** @description The same request with the same key makes one session, however often it comes. */
                        readonly idempotencyKey?: string;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Session"];
                    };
                };
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Session"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}": {
        /** One session. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Session"];
                    };
                };
            };
        };
        /** End a session: what runs in it stops, and its files go. */
        readonly delete: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly deleted: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/renew": {
        /** Let a session live longer, from now. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @description How long it lives; null: until it is deleted. Left out: server.sessions.ttl. */
                        readonly ttlMs?: number | null;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Session"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/execute": {
        /**
         * Run a program or a command. The session is made if there is none.
         * @description With `Accept: text/event-stream` the answer is events: execution, started, stdout, stderr, result, exit, error. A caller that reads slowly slows the program down; one that hangs up ends it.
         */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": components["schemas"]["ExecuteRequest"];
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["ExecutionResult"];
                        readonly "text/event-stream": string;
                    };
                };
            };
        };
    };
    readonly "/v1/executions": {
        /** List the org's executions, the latest first. */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                    /** @description The sessionId of an active session, or the sessionUid of any. */
                    readonly sessionId?: string;
                    readonly state?: "running" | "done" | "interrupted";
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Execution"][];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/executions/{id}": {
        /** One execution. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Execution"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/processes": {
        /** List the session's processes, the oldest first. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Process"][];
                        };
                    };
                };
            };
        };
        /**
         * Start a program or a command that runs in the background. The session is made if there is none.
         * @description Answers when it has started. A client that disconnects does not end it, not even while it waits for approval.
         */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": components["schemas"]["ProcessRequest"];
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Process"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}": {
        /** One process. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Process"];
                    };
                };
            };
        };
        /** Kill a process, and forget it and what it printed. */
        readonly delete: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly deleted: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}/logs": {
        /**
         * What a process has printed, from a cursor on.
         * @description With `Accept: text/event-stream` it goes on until the process ends: stdout, stderr, dropped, exit. The id of an event is the cursor after it, and `Last-Event-ID` goes on there.
         */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    /** @description `next` of the page before; left out: from the beginning. */
                    readonly cursor?: string;
                    /** @description Bytes. */
                    readonly limit?: number;
                    /** @description How long to wait where there is nothing yet. */
                    readonly waitMs?: number;
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["ProcessLogs"];
                        readonly "text/event-stream": string;
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}/signal": {
        /** Send a signal to a process and everything in its group. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @enum {string} */
                        readonly signal: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGABRT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGALRM" | "SIGTERM" | "SIGCONT" | "SIGSTOP" | "SIGTSTP" | "SIGWINCH";
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Process"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/terminals": {
        /** List the session's terminals, the oldest first. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Terminal"][];
                        };
                    };
                };
            };
        };
        /** Open a terminal. Connect to it with a WebSocket, as often as you like. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": components["schemas"]["TerminalRequest"];
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Terminal"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/terminals/{id}": {
        /** One terminal. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Terminal"];
                    };
                };
            };
        };
        /** End a terminal, and forget it. */
        readonly delete: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly deleted: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts": {
        /** List the session's contexts. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Context"][];
                        };
                    };
                };
            };
        };
        /** Make a context: code that keeps its state between runs. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        readonly id?: string;
                        /** @default python */
                        readonly language?: string;
                    };
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Context"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/execute": {
        /** Run code in a context. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": components["schemas"]["ContextExecuteRequest"];
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["ExecutionResult"];
                        readonly "text/event-stream": string;
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/interrupt": {
        /** Interrupt the code that runs now. */
        readonly post: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @description False: nothing ran. */
                            readonly interrupted: boolean;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/restart": {
        /** Restart a context; its state is lost. */
        readonly post: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Context"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/checkpoint": {
        /** Save a context's live state. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /**
                         * @description Also the workspace's files.
                         * @default false
                         */
                        readonly files?: boolean;
                    };
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": {
                            readonly id: string;
                            readonly createdAt: string;
                            readonly snapshotId?: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/rollback": {
        /** Go back to a saved state. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        readonly checkpoint: string;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Context"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/fork": {
        /** Make another context with the same state. */
        readonly post: {
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Context"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}": {
        /** End a context. */
        readonly delete: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly ok: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/files": {
        /** List a directory, by path. */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                    /** @description Relative to the workspace. */
                    readonly path?: string;
                    readonly recursive?: "true" | "false";
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["FileEntry"][];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                            /**
                             * @description There are more than 10,000 entries: some are on no page. List its directories one by one.
                             * @enum {boolean}
                             */
                            readonly truncated?: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/files/{path}": {
        /** Upload a file: whole or not at all. Missing directories are made. */
        readonly put: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/octet-stream": string;
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly path: string;
                        };
                    };
                };
            };
        };
        /** Delete a file, or with `recursive` a directory and all that is in it. */
        readonly delete: {
            readonly parameters: {
                readonly query?: {
                    readonly recursive?: "true" | "false";
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly path: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/files/mkdir": {
        /** Make a directory and those above it. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @description Relative to the workspace. */
                        readonly path: string;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly path: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/files/move": {
        /** Give a file or a directory another path, where nothing is. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @description Relative to the workspace. */
                        readonly from: string;
                        /** @description Relative to the workspace. */
                        readonly to: string;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly path: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/snapshots": {
        /** List the session's snapshots, the newest first. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Snapshot"][];
                        };
                    };
                };
            };
        };
        /** Keep the session's files as they are now. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        readonly name?: string;
                    };
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Snapshot"];
                    };
                };
            };
        };
    };
    readonly "/v1/snapshots": {
        /**
         * List the snapshots of all the org's sessions, the newest first.
         * @description From an index: a session's own list has what was taken by other means.
         */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["ListedSnapshot"][];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/snapshots/{id}": {
        /** Delete a snapshot. */
        readonly delete: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly deleted: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/snapshots/{id}/restore": {
        /** Make the session's files what they were. */
        readonly post: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly written: number;
                            readonly removed: number;
                            readonly unchanged: number;
                            readonly skipped: readonly {
                                readonly path: string;
                                readonly reason: string;
                            }[];
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/snapshots/import": {
        /** Make a snapshot of an uncompressed tar. */
        readonly post: {
            readonly parameters: {
                readonly query?: {
                    readonly name?: string;
                };
            };
            readonly requestBody: {
                readonly content: {
                    readonly "application/x-tar": string;
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Snapshot"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/fork": {
        /** Make a new session with the files of now, or of a snapshot. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @description 1 to 200 characters without slashes and controls. */
                        readonly sessionId?: string;
                        readonly snapshotId?: string;
                        /** @description How long it lives; null: until it is deleted. Left out: server.sessions.ttl. */
                        readonly ttlMs?: number | null;
                    };
                };
            };
            readonly responses: {
                readonly 201: {
                    content: {
                        readonly "application/json": components["schemas"]["Session"];
                    };
                };
            };
        };
    };
    readonly "/v1/sessions/{sessionId}/egress": {
        /**
         * Let a session that runs reach more hosts, or fewer.
         * @description What is open and no longer allowed is closed. It holds until the server stops.
         */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        readonly allow?: readonly string[];
                        readonly deny?: readonly string[];
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @enum {boolean} */
                            readonly changed: true;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/approvals": {
        /** What waits for a decision, the oldest first. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["Approval"][];
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/approvals/{id}/decide": {
        /** Approve, edit or reject. The first decision counts. */
        readonly post: {
            readonly requestBody: {
                readonly content: {
                    readonly "application/json": {
                        /** @enum {string} */
                        readonly decision: "approve";
                        /**
                         * @default once
                         * @enum {string}
                         */
                        readonly scope?: "once" | "session";
                    } | {
                        /** @enum {string} */
                        readonly decision: "edit";
                        readonly code: string;
                    } | {
                        /** @enum {string} */
                        readonly decision: "reject";
                        readonly reason?: string;
                    };
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @description False: it was decided before, or had expired. `approval` has the decision that counts. */
                            readonly accepted: boolean;
                            readonly approval: components["schemas"]["Approval"];
                        };
                    };
                };
                readonly 409: {
                    content: {
                        readonly "application/json": {
                            /** @description False: it was decided before, or had expired. `approval` has the decision that counts. */
                            readonly accepted: boolean;
                            readonly approval: components["schemas"]["Approval"];
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/audit/index": {
        /**
         * Where the org's audit records are, over all servers, the latest first.
         * @description A few seconds behind the logs. It also says what was in the log of a server that is gone.
         */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                    /** @description The sessionId of an active session, or the sessionUid of any. */
                    readonly sessionId?: string;
                    readonly tool?: string;
                    readonly result?: "success" | "failure" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected" | "error" | "interrupted";
                    readonly eventType?: string;
                    /** @description Not before this. */
                    readonly since?: string;
                    /** @description Before this. */
                    readonly until?: string;
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly components["schemas"]["AuditEntry"][];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/audit": {
        /** The org's audit records in one server's log, the latest first. */
        readonly get: {
            readonly parameters: {
                readonly query?: {
                    readonly limit?: number;
                    /** @description `next` of the page before. */
                    readonly cursor?: string;
                    /** @description The sessionId of an active session, or the sessionUid of any. */
                    readonly sessionId?: string;
                    readonly tool?: string;
                    readonly result?: "success" | "failure" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected" | "error" | "interrupted";
                    readonly eventType?: string;
                    /** @description Not before this. */
                    readonly since?: string;
                    /** @description Before this. */
                    readonly until?: string;
                    readonly agent?: string;
                    /** @description Whose log; left out: of the server that is asked. */
                    readonly server?: string;
                };
            };
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            readonly items: readonly {
                                readonly [key: string]: unknown;
                            }[];
                            /** @description Left out: the last page. */
                            readonly next?: string;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/pool": {
        /** The sandboxes that are kept ready, and what runs. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": {
                            /** @description Requests that run something now. */
                            readonly running: number;
                            readonly pool: components["schemas"]["Pool"] | null;
                        };
                    };
                };
            };
        };
    };
    readonly "/v1/status": {
        /** The run-time checklist: what was found, and what to do. */
        readonly get: {
            readonly responses: {
                readonly 200: {
                    content: {
                        readonly "application/json": components["schemas"]["Status"];
                    };
                };
            };
        };
    };
}
export interface components {
    schemas: {
        readonly ExecuteRequest: {
            /** @description Of `code`: python, javascript, typescript, bash. */
            readonly language?: string;
            readonly code?: string;
            readonly filename?: string;
            readonly args?: readonly string[];
            /** @description A shell's command line. */
            readonly command?: string;
            /** @description A command without a shell. */
            readonly argv?: readonly string[];
            /** @description Text, or bytes as base64. */
            readonly stdin?: string | {
                /** Format: base64 */
                readonly base64: string;
            };
            readonly env?: {
                readonly [key: string]: string;
            };
            readonly cwd?: string;
            /** @description Runs the code in this context, and makes it if need be. */
            readonly context?: string;
            readonly timeoutMs?: number;
            /** @description No more than `sandbox.limits.output` of the configuration, whatever is asked for. */
            readonly maxOutputBytes?: number;
            /** @description Files to put into the workspace first, by path: text, or bytes as base64. */
            readonly files?: {
                readonly [key: string]: string | {
                    /** Format: base64 */
                    readonly base64: string;
                };
            };
            /** @description A role of the policy, if the key may have it. */
            readonly role?: string;
            /** @description In whose name, for the audit record; not `key:…`. Left out: the key. */
            readonly agentId?: string;
        };
        readonly ContextExecuteRequest: {
            readonly language?: string;
            readonly code: string;
            /** @description What Python's `input()` reads; other languages have none. */
            readonly stdin?: string;
            readonly timeoutMs?: number;
            /** @description No more than `sandbox.limits.output` of the configuration, whatever is asked for. */
            readonly maxOutputBytes?: number;
            /** @description Files to put into the workspace first, by path: text, or bytes as base64. */
            readonly files?: {
                readonly [key: string]: string | {
                    /** Format: base64 */
                    readonly base64: string;
                };
            };
            /** @description A role of the policy, if the key may have it. */
            readonly role?: string;
            /** @description In whose name, for the audit record; not `key:…`. Left out: the key. */
            readonly agentId?: string;
        };
        readonly ProcessRequest: {
            /** @description Of `code`: python, javascript, typescript, bash. */
            readonly language?: string;
            readonly code?: string;
            readonly filename?: string;
            readonly args?: readonly string[];
            /** @description A shell's command line. */
            readonly command?: string;
            /** @description A command without a shell. */
            readonly argv?: readonly string[];
            /** @description Text, or bytes as base64. */
            readonly stdin?: string | {
                /** Format: base64 */
                readonly base64: string;
            };
            readonly env?: {
                readonly [key: string]: string;
            };
            readonly cwd?: string;
            readonly timeoutMs?: number;
            /** @description No more than `sandbox.limits.output` of the configuration, whatever is asked for. */
            readonly maxOutputBytes?: number;
            /** @description Files to put into the workspace first, by path: text, or bytes as base64. */
            readonly files?: {
                readonly [key: string]: string | {
                    /** Format: base64 */
                    readonly base64: string;
                };
            };
            /** @description A role of the policy, if the key may have it. */
            readonly role?: string;
            /** @description In whose name, for the audit record; not `key:…`. Left out: the key. */
            readonly agentId?: string;
        };
        readonly TerminalRequest: {
            readonly rows: number;
            readonly columns: number;
            /** @description Left out: a shell. */
            readonly argv?: readonly string[];
            readonly env?: {
                readonly [key: string]: string;
            };
            readonly cwd?: string;
            /** @description A role of the policy, if the key may have it. */
            readonly role?: string;
            /** @description In whose name, for the audit record; not `key:…`. Left out: the key. */
            readonly agentId?: string;
        };
        /** @enum {string} */
        readonly ErrorCode: "INVALID_ARGUMENT" | "SESSION_NAME_INVALID" | "LANGUAGE_UNKNOWN" | "BACKEND_UNKNOWN" | "CONFIG_INVALID" | "POLICY_INVALID" | "POLICY_DENIED" | "POLICY_UNENFORCEABLE" | "BACKEND_TOO_WEAK" | "CONFIRMATION_REJECTED" | "AUDIT_FAILED" | "AUDIT_BROKEN" | "STORE_FAILED" | "CONFLICT" | "FILE_NOT_FOUND" | "FILE_EXISTS" | "FILE_TYPE" | "FILE_TOO_LARGE" | "FILE_DENIED" | "PATH_TRAVERSAL" | "DISK_FULL" | "FILE_FAILED" | "SESSION_NOT_FOUND" | "SNAPSHOT_NOT_FOUND" | "CONTEXT_NOT_FOUND" | "CONTEXT_ENDED" | "CHECKPOINT_NOT_FOUND" | "CHECKPOINT_FAILED" | "SANDBOX_DISABLED" | "SANDBOX_NOT_RUNNING" | "SANDBOX_BUSY" | "SANDBOX_START_FAILED" | "POOL_EXHAUSTED" | "SANDBOX_LOST" | "BACKEND_UNAVAILABLE" | "IMAGE_MISSING" | "LIMIT_UNENFORCEABLE" | "LANGUAGE_UNAVAILABLE" | "UNSUPPORTED" | "COMMAND_NOT_FOUND" | "COMMAND_NOT_EXECUTABLE" | "EXECUTION_FAILED" | "PORT_FAILED" | "CANCELLED" | "WIRE_VIOLATION" | "UNAUTHENTICATED" | "FORBIDDEN" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "UPGRADE_REQUIRED" | "BODY_TOO_LARGE" | "MEDIA_TYPE_UNSUPPORTED" | "SESSION_ELSEWHERE" | "RATE_LIMITED" | "SERVER_STOPPING" | "SERVER_UNREACHABLE" | "INTERNAL";
        readonly Error: {
            readonly code: components["schemas"]["ErrorCode"];
            readonly message: string;
            /** @description What to do about it. */
            readonly hint?: string;
            /** @description Whether the same request may succeed later. */
            readonly retryable: boolean;
            readonly requestId: string;
        };
        readonly Session: {
            readonly sessionId: string;
            /** @description Never used again, as a sessionId may be; the session_id of audit records. */
            readonly sessionUid: string;
            readonly role?: string;
            readonly backend?: string;
            /** @enum {string} */
            readonly state: "active" | "ended";
            /** Format: date-time */
            readonly createdAt: string;
            /** Format: date-time */
            readonly renewedAt: string;
            /**
             * Format: date-time
             * @description Left out: until it is deleted.
             */
            readonly expiresAt?: string;
            /** Format: date-time */
            readonly endedAt?: string;
            /** @enum {string} */
            readonly endedWhy?: "deleted" | "expired" | "server-lost" | "failed";
        };
        readonly ExecutionResult: {
            /**
             * @description Of this format.
             * @constant
             */
            readonly version: 1;
            readonly executionId: string;
            readonly sessionId: string;
            readonly success: boolean;
            /**
             * @description Why it ended.
             * @enum {string}
             */
            readonly reason: "exited" | "signaled" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected";
            readonly exitCode: number | null;
            readonly signal: string | null;
            readonly stdout: string;
            readonly stderr: string;
            /** @description The bytes of `stdout`, where they are not all UTF-8. Left out: they are those of the text. */
            readonly stdoutBase64?: string;
            readonly stderrBase64?: string;
            /** @description Output was cut. */
            readonly truncated: boolean;
            /** @description One line for a person when it did not succeed. */
            readonly error?: string;
            readonly executionTimeMs: number;
            readonly cpuTimeMs: number;
            readonly memoryUsedMb: number;
            /** @description The backend's name; none: nothing ran. */
            readonly sandboxType: string;
            readonly sandboxId: string;
            /** @description An interpreter that was already started ran it. */
            readonly warm: boolean;
            readonly filesWritten: readonly string[];
            readonly filesDeleted: readonly string[];
            readonly fileChanges: readonly {
                /** @description Relative to the workspace. Written by programs inside. */
                readonly path: string;
                /** @enum {string} */
                readonly change: "created" | "modified" | "deleted";
            }[];
            /** @description More was written or deleted than is listed. */
            readonly filesWrittenTruncated?: boolean;
            readonly filesRead?: readonly string[];
            readonly filesReadTruncated?: boolean;
            /** @description Left out: the sandbox had no egress. */
            readonly network?: {
                readonly bytesSent: number;
                readonly bytesReceived: number;
                readonly denied: readonly string[];
                readonly failed: readonly string[];
            };
            /** @description Default limits that the host of the sandbox cannot enforce. Left out: none. */
            readonly limitsNotEnforced?: readonly string[];
            /** @description The policy's rule that decided. */
            readonly rule?: string;
            /** @description Left out: the code was not assessed. */
            readonly risk?: {
                /** @enum {string} */
                readonly level: "safe" | "low" | "medium" | "high" | "critical";
                readonly findings: readonly {
                    readonly rule: string;
                    /** @enum {string} */
                    readonly level: "safe" | "low" | "medium" | "high" | "critical";
                    readonly line: number;
                    readonly column: number;
                    readonly excerpt: string;
                    readonly why: string;
                }[];
            };
            /** @description What the person who was asked decided. */
            readonly confirmation?: {
                readonly approved: boolean;
                readonly edited: boolean;
                readonly by?: string;
            };
            /** @description The record in the audit log. */
            readonly auditId?: string;
            readonly contextId?: string;
            readonly executionCount?: number;
            /** @description Why the context ended in this run. */
            readonly contextEnded?: string;
            /** @description Why the context had ended before: its state is lost. */
            readonly contextRestarted?: string;
            /** @description What code in a context showed. Clean it before a page shows it. */
            readonly results?: readonly {
                readonly data: {
                    readonly [key: string]: unknown;
                };
                readonly isMain: boolean;
            }[];
            readonly resultsTruncated?: boolean;
            readonly exception?: {
                readonly name: string;
                readonly value: string;
                readonly traceback: string;
            };
        };
        readonly ExecutionSummary: {
            readonly success?: boolean;
            /**
             * @description Why it ended.
             * @enum {string}
             */
            readonly reason?: "exited" | "signaled" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected";
            readonly exitCode?: number | null;
            readonly executionTimeMs?: number;
            /** @description The record in the audit log. */
            readonly auditId?: string;
            /**
             * @description Of tests.
             * @enum {string}
             */
            readonly outcome?: "passed" | "failed" | "syntax-error" | "crash" | "timeout" | "memory" | "output-limit" | "no-tests" | "tests-broken" | "denied" | "rejected" | "cancelled";
            /** @description Why it could not run. */
            readonly code?: components["schemas"]["ErrorCode"];
        };
        readonly Execution: {
            readonly id: string;
            /** @description Left out: the server has forgotten the session. */
            readonly sessionId?: string;
            readonly sessionUid?: string;
            readonly tool: string;
            /** @enum {string} */
            readonly state: "running" | "done" | "interrupted";
            /** Format: date-time */
            readonly startedAt: string;
            /** Format: date-time */
            readonly endedAt?: string;
            /** @description Null until it is done. */
            readonly result: components["schemas"]["ExecutionSummary"] | null;
        };
        readonly Process: {
            /** @description Also of the execution. */
            readonly id: string;
            readonly role?: string;
            /**
             * @description `starting` also while it waits for approval.
             * @enum {string}
             */
            readonly state: "starting" | "running" | "ended";
            /** Format: date-time */
            readonly startedAt: string;
            /** Format: date-time */
            readonly endedAt?: string;
            /**
             * @description Why it ended.
             * @enum {string}
             */
            readonly reason?: "exited" | "signaled" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected";
            readonly exitCode?: number | null;
            readonly signal?: string | null;
            /** @description Why it did not start, or was lost. */
            readonly code?: components["schemas"]["ErrorCode"];
            readonly error?: string;
            readonly auditId?: string;
            /** @description What runs, as it was given; the beginning of it. */
            readonly command: string;
            /** @description What it has printed so far. */
            readonly outputBytes: number;
            /** @description What came of it, once it has ended; the list leaves it out. Its logs have its output. */
            readonly result?: components["schemas"]["ExecutionResult"];
        };
        readonly ProcessLogs: {
            readonly items: readonly {
                /** @enum {string} */
                readonly stream: "stdout" | "stderr";
                /** @description Written by a program inside: make it visible before you show it. */
                readonly text: string;
            }[];
            /** @description The cursor to go on with. */
            readonly next: string;
            /** @description Bytes after the cursor that are no longer kept. */
            readonly dropped: number;
            /** @description The process has ended, and nothing comes after these. */
            readonly ended: boolean;
        };
        readonly Terminal: {
            /** @description Also of the execution. */
            readonly id: string;
            readonly role?: string;
            /**
             * @description `starting` also while it waits for approval.
             * @enum {string}
             */
            readonly state: "starting" | "running" | "ended";
            /** Format: date-time */
            readonly startedAt: string;
            /** Format: date-time */
            readonly endedAt?: string;
            /**
             * @description Why it ended.
             * @enum {string}
             */
            readonly reason?: "exited" | "signaled" | "timeout" | "memory" | "output-limit" | "cancelled" | "denied" | "rejected";
            readonly exitCode?: number | null;
            readonly signal?: string | null;
            /** @description Why it did not start, or was lost. */
            readonly code?: components["schemas"]["ErrorCode"];
            readonly error?: string;
            readonly auditId?: string;
            /** @description What runs on it, the beginning of it; left out: a shell. */
            readonly command?: string;
            readonly rows: number;
            readonly columns: number;
            /** @description What was on it so far: a cursor at its end. */
            readonly outputBytes: number;
            /** @description Connections to it. */
            readonly watchers: number;
        };
        readonly FileEntry: {
            /** @description Written by programs inside: make it visible before you show it. */
            readonly path: string;
            /** @enum {string} */
            readonly type: "file" | "directory" | "symlink" | "other";
            readonly size: number;
            readonly mode: number;
            /** Format: date-time */
            readonly modifiedAt: string;
        };
        readonly Context: {
            readonly id: string;
            readonly language: string;
            /** @enum {string} */
            readonly state: "idle" | "busy" | "ended";
            readonly ending?: string;
            /** Format: date-time */
            readonly createdAt: string;
            readonly executionCount: number;
            readonly checkpoints: readonly {
                readonly id: string;
                /** Format: date-time */
                readonly createdAt: string;
                readonly snapshotId?: string;
            }[];
        };
        readonly Snapshot: {
            readonly id: string;
            readonly name?: string;
            /** Format: date-time */
            readonly createdAt: string;
            readonly files: number;
            readonly bytes: number;
        };
        readonly Approval: {
            readonly id: string;
            /** @description Left out: the server has forgotten the session. */
            readonly sessionId?: string;
            readonly sessionUid?: string;
            /** Format: date-time */
            readonly createdAt: string;
            /** Format: date-time */
            readonly expiresAt: string;
            /** @description What is asked: tool, code, risk, findings, rule, … */
            readonly request: {
                readonly [key: string]: unknown;
            };
            /** @description Left out: pending. */
            readonly outcome?: {
                /** @enum {string} */
                readonly decision: "approved" | "edited" | "rejected" | "expired" | "cancelled" | "interrupted";
                readonly by?: string;
                /** Format: date-time */
                readonly at: string;
            };
        };
        readonly Pool: {
            readonly idle: number;
            readonly acquiring: number;
            readonly busy: number;
            readonly resetting: number;
            readonly leaving: number;
            readonly waiting: number;
            readonly minInstances: number;
            readonly maxInstances: number;
            readonly hits: number;
            readonly misses: number;
            readonly created: number;
            readonly destroyed: number;
            readonly resets: number;
            readonly failures: number;
            readonly timeouts: number;
            readonly lastFailure?: {
                /** Format: date-time */
                readonly at: string;
                readonly code: components["schemas"]["ErrorCode"];
            };
            /**
             * Format: date-time
             * @description When a request last timed out waiting for a sandbox.
             */
            readonly lastTimeoutAt?: string;
            /**
             * Format: date-time
             * @description It cannot make sandboxes, and tries again then.
             */
            readonly nextAttemptAt?: string;
        };
        readonly AuditEntry: {
            /** @description The server in whose log the record is. */
            readonly server: string;
            /** @description Its number there. */
            readonly seq: number;
            /** @description Left out: the server has forgotten the session. */
            readonly sessionId?: string;
            readonly sessionUid?: string;
            readonly eventType: string;
            readonly tool?: string;
            readonly result?: string;
            /** Format: date-time */
            readonly at: string;
        };
        readonly Status: {
            /** @description False: one of the checks needs attention. */
            readonly ok: boolean;
            /** Format: date-time */
            readonly at: string;
            readonly version: string;
            readonly uptimeMs: number;
            /** @description How far back what is recent goes: an hour, or since the start. */
            readonly recentMs: number;
            readonly checks: readonly {
                readonly name: string;
                /** @description What is promised. */
                readonly what: string;
                /** @description False: it needs attention. */
                readonly ok: boolean;
                readonly found: string;
                /** @description What to do about it. */
                readonly todo?: string;
            }[];
            readonly figures: {
                /** @description Requests that run something now. */
                readonly running: number;
                /** @description WebSockets that are open. */
                readonly sockets: number;
                readonly sandboxes: {
                    readonly inUse: number;
                    readonly started: number;
                    readonly failed: number;
                    readonly measured: number;
                    /** @description Near a limit now. */
                    readonly alerting: number;
                    readonly highestCpuPercent?: number;
                    readonly highestMemoryPercent?: number;
                };
                readonly pool: components["schemas"]["Pool"] | null;
                readonly recent: {
                    /** @description By HTTP status. */
                    readonly requests: {
                        readonly [key: string]: number;
                    };
                    /** @description By how they ended. */
                    readonly executions: {
                        readonly [key: string]: number;
                    };
                    /** @description By resource. */
                    readonly alerts: {
                        readonly [key: string]: number;
                    };
                    readonly violations: readonly {
                        readonly tool: string;
                        readonly reason: string;
                        readonly count: number;
                    }[];
                    readonly connections: {
                        readonly allowed: number;
                        readonly denied: number;
                        readonly failed: number;
                        /** @description Denied, with a secret that is not for that host. */
                        readonly withSecret: number;
                    };
                    /** @description Of the key's own organisation; made visible. */
                    readonly deniedHosts: readonly {
                        readonly host: string;
                        readonly count: number;
                    }[];
                };
                readonly store: {
                    readonly kind: string;
                    readonly problem?: string;
                    readonly pingMs?: number;
                    readonly bytes?: number;
                    readonly activeSessions?: number;
                    readonly runningExecutions?: number;
                    readonly pendingApprovals?: number;
                };
                readonly servers: readonly {
                    readonly id: string;
                    readonly url: string;
                    /** Format: date-time */
                    readonly startedAt: string;
                    readonly isThis: boolean;
                }[];
                readonly audit: {
                    readonly problem?: string;
                    readonly open: number;
                    readonly waiting: number;
                    readonly lastSeq?: number;
                    readonly lastAt?: string;
                    readonly bytes?: number;
                } | null;
                readonly disks: readonly {
                    readonly place: string;
                    readonly freeBytes: number;
                    readonly totalBytes: number;
                }[];
                readonly process: {
                    readonly memoryBytes: number;
                    readonly heapUsedBytes: number;
                    readonly heapLimitBytes: number;
                    readonly loopDelayP99Ms: number;
                    readonly loopDelayMaxMs: number;
                };
            };
        };
        readonly ListedSnapshot: {
            readonly id: string;
            readonly name?: string;
            /** Format: date-time */
            readonly createdAt: string;
            readonly files: number;
            readonly bytes: number;
            /** @description Left out: the server has forgotten the session. */
            readonly sessionId?: string;
            readonly sessionUid?: string;
        };
    };
}

/** Generated from the server's OpenAPI document: `npx vitest run packages/client/src/api-types.test.ts -u`. */

export interface paths {
    readonly "/healthz": {
        readonly parameters: {
        };
        /** The process answers. */
        readonly get: operations["getHealthz"];
    };
    readonly "/readyz": {
        readonly parameters: {
        };
        /** It takes work. */
        readonly get: operations["getReadyz"];
    };
    readonly "/v1/sessions": {
        readonly parameters: {
        };
        /** List the org's sessions, the latest first. */
        readonly get: operations["getSessions"];
        /** Make a session. Its sandbox starts in the background. */
        readonly post: operations["postSessions"];
    };
    readonly "/v1/sessions/{sessionId}": {
        readonly parameters: {
        };
        /** One session. */
        readonly get: operations["getSessionsOne"];
        /** End a session: what runs in it stops, and its files go. */
        readonly delete: operations["deleteSessionsOne"];
    };
    readonly "/v1/sessions/{sessionId}/renew": {
        readonly parameters: {
        };
        /** Let a session live longer, from now. */
        readonly post: operations["postSessionsRenew"];
    };
    readonly "/v1/sessions/{sessionId}/execute": {
        readonly parameters: {
        };
        /**
         * Run a program or a command. The session is made if there is none.
         * @description With `Accept: text/event-stream` the answer is events: execution, started, stdout, stderr, result, exit, error. A caller that reads slowly slows the program down; one that hangs up ends it.
         */
        readonly post: operations["postSessionsExecute"];
    };
    readonly "/v1/executions": {
        readonly parameters: {
        };
        /** List the org's executions, the latest first. */
        readonly get: operations["getExecutions"];
    };
    readonly "/v1/executions/{id}": {
        readonly parameters: {
        };
        /** One execution. */
        readonly get: operations["getExecutionsOne"];
    };
    readonly "/v1/sessions/{sessionId}/processes": {
        readonly parameters: {
        };
        /** List the session's processes, the oldest first. */
        readonly get: operations["getSessionsProcesses"];
        /**
         * Start a program or a command that goes on. The session is made if there is none.
         * @description Answers when it has started. A client that disconnects does not end it, not even while it waits for approval.
         */
        readonly post: operations["postSessionsProcesses"];
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}": {
        readonly parameters: {
        };
        /** One process. */
        readonly get: operations["getSessionsProcessesOne"];
        /** Kill a process, and forget it and what it printed. */
        readonly delete: operations["deleteSessionsProcessesOne"];
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}/logs": {
        readonly parameters: {
        };
        /**
         * What a process has printed, from a cursor on.
         * @description With `Accept: text/event-stream` it goes on until the process ends: stdout, stderr, dropped, exit. The id of an event is the cursor after it, and `Last-Event-ID` goes on there.
         */
        readonly get: operations["getSessionsProcessesLogs"];
    };
    readonly "/v1/sessions/{sessionId}/processes/{id}/signal": {
        readonly parameters: {
        };
        /** Send a signal to a process and everything in its group. */
        readonly post: operations["postSessionsProcessesSignal"];
    };
    readonly "/v1/sessions/{sessionId}/terminals": {
        readonly parameters: {
        };
        /** List the session's terminals, the oldest first. */
        readonly get: operations["getSessionsTerminals"];
        /** Open a terminal. Connect to it with a WebSocket, as often as you like. */
        readonly post: operations["postSessionsTerminals"];
    };
    readonly "/v1/sessions/{sessionId}/terminals/{id}": {
        readonly parameters: {
        };
        /** One terminal. */
        readonly get: operations["getSessionsTerminalsOne"];
        /** End a terminal, and forget it. */
        readonly delete: operations["deleteSessionsTerminalsOne"];
    };
    readonly "/v1/sessions/{sessionId}/terminals/{id}/stream": {
        readonly parameters: {
        };
        /**
         * A WebSocket: what is on the terminal, and what is typed into it.
         * @description Sends {"type":"open","cursor":…,"dropped":…}, then the screen's bytes from the cursor on as binary messages, and at the end {"type":"exit","result":{…}}; takes binary messages and {"type":"input","data":…} as what is typed, and {"type":"resize","rows":…,"columns":…}. What cannot be understood is answered with {"type":"error",…}. Without an Authorization header, offer the subprotocols `skerry` and `skerry.key.` followed by the key.
         */
        readonly get: operations["getSessionsTerminalsStream"];
    };
    readonly "/v1/sessions/{sessionId}/contexts": {
        readonly parameters: {
        };
        /** List the session's contexts. */
        readonly get: operations["getSessionsContexts"];
        /** Make a context: code that keeps its state between runs. */
        readonly post: operations["postSessionsContexts"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/execute": {
        readonly parameters: {
        };
        /** Run code in a context. */
        readonly post: operations["postSessionsContextsExecute"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/interrupt": {
        readonly parameters: {
        };
        /** Interrupt the code that runs now. */
        readonly post: operations["postSessionsContextsInterrupt"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/restart": {
        readonly parameters: {
        };
        /** Restart a context; its state is lost. */
        readonly post: operations["postSessionsContextsRestart"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/checkpoint": {
        readonly parameters: {
        };
        /** Save a context's live state. */
        readonly post: operations["postSessionsContextsCheckpoint"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/rollback": {
        readonly parameters: {
        };
        /** Go back to a saved state. */
        readonly post: operations["postSessionsContextsRollback"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}/fork": {
        readonly parameters: {
        };
        /** Make another context with the same state. */
        readonly post: operations["postSessionsContextsFork"];
    };
    readonly "/v1/sessions/{sessionId}/contexts/{id}": {
        readonly parameters: {
        };
        /** End a context. */
        readonly delete: operations["deleteSessionsContextsOne"];
    };
    readonly "/v1/sessions/{sessionId}/files": {
        readonly parameters: {
        };
        /** List a directory, by path. */
        readonly get: operations["getSessionsFiles"];
    };
    readonly "/v1/sessions/{sessionId}/files/{path}": {
        readonly parameters: {
        };
        /** Download a file. */
        readonly get: operations["getSessionsFilesOne"];
        /** Upload a file: whole or not at all. Missing directories are made. */
        readonly put: operations["putSessionsFilesOne"];
        /** Delete a file, or with `recursive` a directory and all that is in it. */
        readonly delete: operations["deleteSessionsFilesOne"];
    };
    readonly "/v1/sessions/{sessionId}/files/mkdir": {
        readonly parameters: {
        };
        /** Make a directory and those above it. */
        readonly post: operations["postSessionsFilesMkdir"];
    };
    readonly "/v1/sessions/{sessionId}/files/move": {
        readonly parameters: {
        };
        /** Give a file or a directory another path, where nothing is. */
        readonly post: operations["postSessionsFilesMove"];
    };
    readonly "/v1/sessions/{sessionId}/watch": {
        readonly parameters: {
        };
        /**
         * Tell what changes in a directory, as events.
         * @description Server-sent events: `watching` first; `created`, `modified` and `deleted` with `path` and `type`; `overflow`: too much changed at once, list the directory again; `error` or `ended` last.
         */
        readonly get: operations["getSessionsWatch"];
    };
    readonly "/v1/sessions/{sessionId}/snapshots": {
        readonly parameters: {
        };
        /** List the session's snapshots, the newest first. */
        readonly get: operations["getSessionsSnapshots"];
        /** Keep the session's files as they are now. */
        readonly post: operations["postSessionsSnapshots"];
    };
    readonly "/v1/snapshots": {
        readonly parameters: {
        };
        /**
         * List the snapshots of all the org's sessions, the newest first.
         * @description From an index: a session's own list has what was taken by other means.
         */
        readonly get: operations["getSnapshots"];
    };
    readonly "/v1/sessions/{sessionId}/snapshots/{id}": {
        readonly parameters: {
        };
        /** Delete a snapshot. */
        readonly delete: operations["deleteSessionsSnapshotsOne"];
    };
    readonly "/v1/sessions/{sessionId}/snapshots/{id}/restore": {
        readonly parameters: {
        };
        /** Make the session's files what they were. */
        readonly post: operations["postSessionsSnapshotsRestore"];
    };
    readonly "/v1/sessions/{sessionId}/snapshots/{id}/export": {
        readonly parameters: {
        };
        /** Download a snapshot as an uncompressed tar. */
        readonly get: operations["getSessionsSnapshotsExport"];
    };
    readonly "/v1/sessions/{sessionId}/snapshots/import": {
        readonly parameters: {
        };
        /** Make a snapshot of an uncompressed tar. */
        readonly post: operations["postSessionsSnapshotsImport"];
    };
    readonly "/v1/sessions/{sessionId}/fork": {
        readonly parameters: {
        };
        /** Make a new session with the files of now, or of a snapshot. */
        readonly post: operations["postSessionsFork"];
    };
    readonly "/v1/sessions/{sessionId}/egress": {
        readonly parameters: {
        };
        /**
         * Let a session that runs reach more hosts, or fewer.
         * @description What is open and no longer allowed is closed. It holds until the server stops.
         */
        readonly post: operations["postSessionsEgress"];
    };
    readonly "/v1/sessions/{sessionId}/ports/{port}/{path}": {
        readonly parameters: {
        };
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly get: operations["getSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly put: operations["putSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly post: operations["postSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly delete: operations["deleteSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly options: operations["optionsSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly head: operations["headSessionsPortsOne"];
        /**
         * Pass a request on to what listens on a port inside.
         * @description Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on this server's origin. Takes `sandbox.network.allowLocalBinding`.
         */
        readonly patch: operations["patchSessionsPortsOne"];
    };
    readonly "/v1/sessions/{sessionId}/tunnels/{port}": {
        readonly parameters: {
        };
        /** A WebSocket: the bytes of one TCP connection to a port inside, as binary messages. */
        readonly get: operations["getSessionsTunnelsOne"];
    };
    readonly "/v1/approvals": {
        readonly parameters: {
        };
        /** What waits for a decision, the oldest first. */
        readonly get: operations["getApprovals"];
    };
    readonly "/v1/approvals/{id}/decide": {
        readonly parameters: {
        };
        /** Approve, edit or reject. The first decision counts. */
        readonly post: operations["postApprovalsDecide"];
    };
    readonly "/v1/approvals/stream": {
        readonly parameters: {
        };
        /**
         * A WebSocket: everything that is pending, then every change; also takes decisions.
         * @description Sends {"type":"pending","approvals":[…]}, {"type":"requested","approval":{…}}, {"type":"decided","id":…,"outcome":{…}}, {"type":"answer","id":…,"accepted":…,"approval":{…}} and {"type":"error",…}; takes {"type":"decide","id":…,"answer":{"decision":"approve"}}.
         */
        readonly get: operations["getApprovalsStream"];
    };
    readonly "/v1/audit/index": {
        readonly parameters: {
        };
        /**
         * Where the org's audit records are, over all servers, the latest first.
         * @description A few seconds behind the logs. It also says what was in the log of a server that is gone.
         */
        readonly get: operations["getAuditIndex"];
    };
    readonly "/v1/audit": {
        readonly parameters: {
        };
        /** The org's audit records in one server's log, the latest first. */
        readonly get: operations["getAudit"];
    };
    readonly "/mcp": {
        readonly parameters: {
        };
        /** Messages from the server to an MCP client, as events; or the rest of a stream, after Last-Event-ID. */
        readonly get: operations["getMcp"];
        /**
         * Messages of an MCP client.
         * @description The Model Context Protocol, streamable HTTP. `initialize` makes an MCP session for the headers X-Skerry-Session and X-Skerry-Role; its answer has the header Mcp-Session-Id, which every later request sends.
         */
        readonly post: operations["postMcp"];
        /** End an MCP session: what it runs stops, and a session of its own goes. */
        readonly delete: operations["deleteMcp"];
    };
    readonly "/metrics": {
        readonly parameters: {
        };
        /** Prometheus' text format. */
        readonly get: operations["getMetrics"];
    };
    readonly "/v1/pool": {
        readonly parameters: {
        };
        /** The sandboxes that are kept ready, and what runs. */
        readonly get: operations["getPool"];
    };
    readonly "/v1/status": {
        readonly parameters: {
        };
        /** The run-time checklist: what was found, and what to do. */
        readonly get: operations["getStatus"];
    };
}
export type webhooks = Record<string, never>;
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
            readonly stdin?: string;
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
            readonly stdin?: string;
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
    responses: {
        /** @description The request is at fault: `code` says how, `hint` what to do. */
        readonly RequestError: {
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The server is at fault, or cannot do it now: `code` says which. */
        readonly ServerError: {
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly getHealthz: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {string} */
                        readonly status: "ok";
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getReadyz: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {string} */
                        readonly status: "ok";
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessions: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                /** @description `next` of the page before. */
                readonly cursor?: string;
                readonly state?: "active" | "ended";
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Session"][];
                        /** @description Left out: the last page. */
                        readonly next?: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessions: {
        readonly parameters: {
        };
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
            /** @description An earlier request made it. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Session"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Session"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly deleted: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsRenew: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description How long it lives; null: until it is deleted. Left out: server.sessions.ttl. */
                    readonly ttlMs?: number | null;
                };
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Session"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsExecute: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ExecuteRequest"];
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["ExecutionResult"];
                    readonly "text/event-stream": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getExecutions: {
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
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Execution"][];
                        /** @description Left out: the last page. */
                        readonly next?: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getExecutionsOne: {
        readonly parameters: {
            readonly path: {
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Execution"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsProcesses: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Process"][];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsProcesses: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ProcessRequest"];
            };
        };
        readonly responses: {
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Process"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsProcessesOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Process"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsProcessesOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly deleted: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsProcessesLogs: {
        readonly parameters: {
            readonly query?: {
                /** @description `next` of the page before; left out: from the beginning. */
                readonly cursor?: string;
                /** @description Bytes. */
                readonly limit?: number;
                /** @description How long to wait where there is nothing yet. */
                readonly waitMs?: number;
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["ProcessLogs"];
                    readonly "text/event-stream": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsProcessesSignal: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @enum {string} */
                    readonly signal: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGABRT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGALRM" | "SIGTERM" | "SIGCONT" | "SIGSTOP" | "SIGTSTP" | "SIGWINCH";
                };
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Process"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsTerminals: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Terminal"][];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsTerminals: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TerminalRequest"];
            };
        };
        readonly responses: {
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Terminal"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsTerminalsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Terminal"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsTerminalsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly deleted: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsTerminalsStream: {
        readonly parameters: {
            readonly query?: {
                /** @description How many bytes were seen already; left out: everything that is kept. */
                readonly cursor?: number;
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description The connection goes on as a WebSocket. */
            readonly 101: {
                content?: never;
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsContexts: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Context"][];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContexts: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
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
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Context"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsExecute: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ContextExecuteRequest"];
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["ExecutionResult"];
                    readonly "text/event-stream": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsInterrupt: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @description False: nothing ran. */
                        readonly interrupted: boolean;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsRestart: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Context"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsCheckpoint: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
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
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly createdAt: string;
                        readonly snapshotId?: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsRollback: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly checkpoint: string;
                };
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Context"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsContextsFork: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Context"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsContextsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly ok: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsFiles: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                /** @description `next` of the page before. */
                readonly cursor?: string;
                /** @description Relative to the workspace. */
                readonly path?: string;
                readonly recursive?: "true" | "false";
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
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
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsFilesOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/octet-stream": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly putSessionsFilesOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/octet-stream": string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly path: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsFilesOne: {
        readonly parameters: {
            readonly query?: {
                readonly recursive?: "true" | "false";
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly path: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsFilesMkdir: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @description Relative to the workspace. */
                    readonly path: string;
                };
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly path: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsFilesMove: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
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
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly path: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsWatch: {
        readonly parameters: {
            readonly query?: {
                /** @description Relative to the workspace. */
                readonly path?: string;
                readonly recursive?: "true" | "false";
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "text/event-stream": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsSnapshots: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Snapshot"][];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsSnapshots: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name?: string;
                };
            };
        };
        readonly responses: {
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Snapshot"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSnapshots: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                /** @description `next` of the page before. */
                readonly cursor?: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["ListedSnapshot"][];
                        /** @description Left out: the last page. */
                        readonly next?: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsSnapshotsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly deleted: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsSnapshotsRestore: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
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
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsSnapshotsExport: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly id: string;
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/x-tar": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsSnapshotsImport: {
        readonly parameters: {
            readonly query?: {
                readonly name?: string;
            };
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/x-tar": string;
            };
        };
        readonly responses: {
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Snapshot"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsFork: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
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
            /** @description Made. */
            readonly 201: {
                content: {
                    readonly "application/json": components["schemas"]["Session"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsEgress: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly allow?: readonly string[];
                    readonly deny?: readonly string[];
                };
            };
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly changed: true;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly putSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly optionsSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly headSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly patchSessionsPortsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
                /** @description Slashes are part of it. */
                readonly path: string;
            };
        };
        readonly responses: {
            /** @description What was answered inside. */
            readonly default: {
                content: {
                    readonly "*/*": unknown;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getSessionsTunnelsOne: {
        readonly parameters: {
            readonly path: {
                /** @description 1 to 200 characters without slashes and controls. */
                readonly sessionId: string;
                readonly port: number;
            };
        };
        readonly responses: {
            /** @description The connection goes on as a WebSocket. */
            readonly 101: {
                content?: never;
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getApprovals: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["Approval"][];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postApprovalsDecide: {
        readonly parameters: {
            readonly path: {
                readonly id: string;
            };
        };
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
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @description False: it was decided before, or had expired. `approval` has the decision that counts. */
                        readonly accepted: boolean;
                        readonly approval: components["schemas"]["Approval"];
                    };
                };
            };
            /** @description Done. */
            readonly 409: {
                content: {
                    readonly "application/json": {
                        /** @description False: it was decided before, or had expired. `approval` has the decision that counts. */
                        readonly accepted: boolean;
                        readonly approval: components["schemas"]["Approval"];
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getApprovalsStream: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description The connection goes on as a WebSocket. */
            readonly 101: {
                content?: never;
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getAuditIndex: {
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
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["AuditEntry"][];
                        /** @description Left out: the last page. */
                        readonly next?: string;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getAudit: {
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
            /** @description Done. */
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
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getMcp: {
        readonly parameters: {
            readonly query?: {
                /** @description The same as the header X-Skerry-Session. */
                readonly session?: string;
                /** @description The same as the header X-Skerry-Role. */
                readonly role?: string;
            };
        };
        readonly responses: {
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly postMcp: {
        readonly parameters: {
            readonly query?: {
                /** @description The same as the header X-Skerry-Session. */
                readonly session?: string;
                /** @description The same as the header X-Skerry-Role. */
                readonly role?: string;
            };
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly [key: string]: unknown;
                } | readonly {
                    readonly [key: string]: unknown;
                }[];
            };
        };
        readonly responses: {
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly deleteMcp: {
        readonly parameters: {
            readonly query?: {
                /** @description The same as the header X-Skerry-Session. */
                readonly session?: string;
                /** @description The same as the header X-Skerry-Role. */
                readonly role?: string;
            };
        };
        readonly responses: {
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getMetrics: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "text/plain": string;
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getPool: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": {
                        /** @description Requests that run something now. */
                        readonly running: number;
                        readonly pool: components["schemas"]["Pool"] | null;
                    };
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
    readonly getStatus: {
        readonly parameters: {
        };
        readonly responses: {
            /** @description Done. */
            readonly 200: {
                content: {
                    readonly "application/json": components["schemas"]["Status"];
                };
            };
            readonly "4XX": components["responses"]["RequestError"];
            readonly "5XX": components["responses"]["ServerError"];
        };
    };
}

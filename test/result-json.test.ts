import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { type Session, SkerryClient } from "@skerry/client";
import { afterAll, beforeAll, expect } from "vitest";
import * as zod from "zod";
import { createResultSchema } from "../src/core/manager/index.js";
import { AuditLogger, parseConfig, parsePolicy, Sandbox } from "../src/index.js";
import { startMcp } from "./e2e/mcp-client.js";
import { createUser, type User } from "./e2e/run-skerry.js";
import { connectMcp } from "./setup/mcp-http.js";
import { requires } from "./setup/requires.js";
import { TestServer } from "./setup/test-server.js";

const { describe, it } = requires("bubblewrap", "python3");
const POLICY = `version: 1
policies:
  tools:
    run_code:
      denied_commands: [curl]
`;
/** With egress, so that every interface tells of the network. */
const SANDBOX = { network: { allowedDomains: ["example.com"] } };
const SESSION = "same";

/** What is told of a program through each interface, as JSON. */
type Interface = (language: string, code: string) => Promise<Record<string, unknown>>;

let directory: string;
let server: TestServer;
let user: User;
let audit: AuditLogger;
let sandbox: Sandbox;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "skerry-result-"));
  // The sandboxes' own users must be able to pass through.
  chmodSync(directory, 0o711);
  audit = new AuditLogger({ directory: join(directory, "audit") });
  await audit.open();
  const policy = parsePolicy(POLICY, "policy.yaml");
  const config = await parseConfig({ sandbox: SANDBOX });
  sandbox = await Sandbox.create({ config, stateDir: directory, sessionId: SESSION, audit, policy });
  server = await TestServer.open({ policy: POLICY, sandbox: SANDBOX });
  user = createUser();
  writeFileSync(join(user.home, "policy.yaml"), POLICY);
  writeFileSync(join(user.home, "config.json"), JSON.stringify({ sandbox: SANDBOX }));
});
afterAll(async () => {
  await sandbox?.delete();
  await audit?.close();
  await server?.close();
  rmSync(directory, { recursive: true, force: true });
});

const CLI_OPTIONS = ["--session", SESSION, "--policy", "policy.yaml", "--config", "config.json"];
const INTERFACES: Readonly<Record<string, Interface>> = {
  library: async (language, code) => JSON.parse(JSON.stringify(await sandbox.runCode(code, { language }))),
  "command line": async (language, code) =>
    JSON.parse(user.skerry(["run", "--json", ...CLI_OPTIONS, "-l", language, "-c", code]).stdout),
  HTTP: async (language, code) =>
    (await server.call(server.admin, "POST", `/v1/sessions/${SESSION}/execute`, { language, code })).body,
  client: async (language, code) => ({ ...(await remote().runCode(code, { language })) }),
  "client, as events": async (language, code) => {
    const printed = { stdout: "", stderr: "" };
    for await (const event of remote().runCode(code, { language })) {
      if (event.type === "stdout" || event.type === "stderr") printed[event.type] += event.text;
      // Of what was streamed, the result has no output.
      else if (event.type === "exit") return { ...event.result, ...printed };
    }
    throw new Error("there was no exit");
  },
  MCP: async (language, code) => {
    const { call } = await startMcp(user, CLI_OPTIONS);
    return resultIn(await call("run_code", { language, code }));
  },
  "MCP over HTTP": async (language, code) => {
    const { call } = await connectMcp(server.url, server.admin, { session: SESSION });
    return resultIn(await call("run_code", { language, code }));
  },
};

function remote(): Session {
  return new SkerryClient({ url: server.url, apiKey: server.admin }).sessions.get(SESSION);
}

function resultIn({ _meta }: CallToolResult): Record<string, unknown> {
  return _meta?.["skerry/result"] as Record<string, unknown>;
}

/** The same without ids, times, memory, and whether an interpreter was ready. What was read is told where the host could look in time. */
function comparable({ executionId: _, filesRead: __, ...json }: Record<string, unknown>) {
  const own = ["executionTimeMs", "cpuTimeMs", "memoryUsedMb", "sandboxId", "auditId", "warm"];
  return { ...json, ...Object.fromEntries(own.map((name) => [name, typeof json[name]])) };
}

describe("the JSON of a result", () => {
  it.each([
    [
      "a program that fails",
      "python",
      "import sys; print('out'); print('err', file=sys.stderr); open('made.txt', 'a').close(); sys.exit(3)",
      { success: false, reason: "exited", exitCode: 3, stdout: "out\n", stderr: "err\n" },
    ],
    [
      "a program that is denied",
      "bash",
      "curl http://localhost",
      {
        reason: "denied",
        exitCode: null,
        rule: "policy.yaml: policies.tools.run_code.denied_commands[0] (line 5)",
      },
    ],
  ])("is the same from every interface: %s", async (_, language, code, expected) => {
    const schema = zod.z.strictObject(createResultSchema(zod).shape);
    const results: Record<string, unknown> = {};
    for (const [name, run] of Object.entries(INTERFACES)) {
      const json = await run(language, code);
      expect(schema.safeParse(json).error, name).toBeUndefined();
      expect(json, name).toMatchObject({ version: 1, sessionId: SESSION, ...expected });
      results[name] = comparable(json);
      // Some interfaces share a session: the next one finds it as this one did.
      await run("python", "import pathlib; pathlib.Path('made.txt').unlink(missing_ok=True)");
    }
    const { library, ...others } = results;
    for (const [name, json] of Object.entries(others)) expect(json, name).toEqual(library);
  });
});

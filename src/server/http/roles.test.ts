import { beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";

const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: medium, requires_confirmation: false, denied_commands: [curl] }
  agent_roles:
    reader: { tools: [file_read, file_list] }
    worker: { tools: [file_read, file_list, file_write, file_delete, shell_exec] }
    kept: { tools: [file_read, file_list, file_write], denied_paths: [/workspace/secret/**] }
`;

let server: TestServer;
let all: string;
let reader: string;
let kept: string;

beforeAll(async () => {
  server = await TestServer.open({ policy: POLICY });
  all = (await server.key()).secret;
  reader = (await server.key("default", { roles: ["reader", "kept"] })).secret;
  kept = (await server.key("default", { roles: ["kept"] })).secret;
  for (const name of ["s", "free"])
    await server.call(all, "POST", "/v1/sessions", {
      sessionId: name,
      ...(name === "s" && { role: "worker" }),
    });
});

const execute = (key: string, session: string, body: object) =>
  server.call(key, "POST", `/v1/sessions/${session}/execute`, body);
const FORBIDDEN = { status: 403, body: { code: "FORBIDDEN", message: "This key may not act in that role" } };

requires("bubblewrap").describe("a key's roles", () => {
  it("are the only ones it acts in, and the first is its own", async () => {
    expect(await execute(all, "s", { command: "echo hi" })).toMatchObject({ body: { stdout: "hi\n" } });
    expect((await execute(reader, "mine", { command: "echo hi" })).body).toMatchObject({ reason: "denied" });
    expect(await execute(reader, "mine", { command: "echo hi", role: "worker" })).toMatchObject(FORBIDDEN);
    const made = await server.call(reader, "POST", "/v1/sessions", { role: "worker" });
    expect(made).toMatchObject(FORBIDDEN);
    expect((await server.call(reader, "POST", "/v1/sessions", {})).body.role).toBe("reader");
  });

  it("do not grow in a session of a key with more", async () => {
    expect(await execute(reader, "s", { command: "echo hi" })).toMatchObject(FORBIDDEN);
    expect(await server.call(reader, "GET", "/v1/sessions/s/files")).toMatchObject(FORBIDDEN);
  });

  it("that are none let it act in none", async () => {
    const noRoles = (await server.key("default", { roles: [] })).secret;
    expect(await execute(noRoles, "new", { command: "true" })).toMatchObject(FORBIDDEN);
    expect((await server.call(all, "GET", "/v1/sessions/new")).status).toBe(404);
  });

  it("have what the policy denies told with its rule, and no path of this host", async () => {
    const { status, body } = await execute(all, "s", { command: "curl http://x" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, reason: "denied", stdout: "" });
    expect(body.rule).toMatch(/^policy\.yaml: policies\.tools\.shell_exec/);
    const { items } = (await server.call(all, "GET", "/v1/audit?sessionId=s&result=denied")).body;
    expect(items).toHaveLength(1);
    for (const told of [body, items]) expect(JSON.stringify(told)).not.toContain(server.stateDir);
  });

  it("keep files back from reading, listing and every archive", async () => {
    await execute(all, "free", { command: "mkdir secret; echo x > secret/a; echo y > b", role: "worker" });
    const at = "/v1/sessions/free";
    const get = (path: string) => server.call(kept, "GET", `${at}/${path}`);
    expect(
      (await get("files?recursive=true")).body.items.map(({ path }: { path: string }) => path),
    ).not.toContain("secret/a");
    const denied = { status: 403, body: { code: "POLICY_DENIED" } };
    expect(await get("files/secret/a")).toMatchObject(denied);
    const taken = await server.call(kept, "POST", `${at}/snapshots`);
    expect(taken.status).toBe(201);
    expect(await get(`snapshots/${taken.body.id}/export`)).toMatchObject(denied);
    expect(await server.call(kept, "POST", `${at}/snapshots/${taken.body.id}/restore`)).toMatchObject(denied);
    expect(await server.call(kept, "POST", `${at}/fork`, { sessionId: "copy" })).toMatchObject(denied);
    expect((await server.call(kept, "GET", "/v1/sessions/copy")).status).toBe(404);
    expect(await server.call(kept, "POST", `${at}/files/move`, { from: "secret", to: "open" })).toMatchObject(
      {
        status: 403,
      },
    );
  });
});

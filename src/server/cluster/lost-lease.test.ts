import { expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer, type TestServerOptions } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { Instance } from "../../runtime/backends/backend.js";
import { createBubblewrapBackend } from "../../runtime/backends/bubblewrap/backend.js";
import { registerBackend } from "../../runtime/backends/registry.js";

/** Sandboxes of this one stop only when the test lets them. */
let letStop: () => void = () => undefined;
const stopping = new Promise<void>((resolve) => {
  letStop = resolve;
});
registerBackend("stubborn", (context) => {
  const real = createBubblewrapBackend(context);
  return {
    name: "stubborn",
    probe: (options) => real.probe(options),
    reap: () => real.reap(),
    create: async (spec) => reluctant(await real.create(spec)),
  };
});

let testServer: TestServer;

async function open(options: TestServerOptions = {}): Promise<string> {
  testServer = await TestServer.open({ server: { lease: "5s" }, ...options });
  return (await testServer.key()).secret;
}

/** Another run of this server, as far as the store can tell. */
async function takePlace(): Promise<void> {
  const store = await testServer.store();
  const [server] = await store.servers.list();
  await store.servers.start({ id: server!.id, url: "", leaseMs: 60_000 });
}

requires("bubblewrap").describe("a server that has lost its lease", () => {
  it("ends what runs, answers with nothing of it, and stops", async () => {
    const key = await open();
    const run = (accept: string) =>
      testServer.fetch(key, "POST", "/v1/sessions/s/execute", {
        body: JSON.stringify({ command: "echo on; sleep 600" }),
        headers: { "content-type": "application/json", accept },
      });
    const events = await run("text/event-stream");
    const plain = run("application/json");
    await waitUntil(
      async () => (await testServer.call(testServer.admin, "GET", "/v1/pool")).body.running === 2,
    );
    await takePlace();
    const answer = await plain;
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toMatchObject([
      503,
      "5",
      { code: "STORE_FAILED", message: "Another server declared this one dead; it stops" },
    ]);
    const text = await events.text().catch(() => "cut");
    expect(text).not.toContain("event: exit");
    expect(await testServer.server.lost).toMatchObject({ code: "STORE_FAILED" });
    await expect(testServer.call(key, "GET", "/v1/sessions")).rejects.toThrow();
  });

  it("asks for the end of the process when what runs inside does not stop in time", async () => {
    let isOverdue = false;
    const key = await open({
      backend: "stubborn",
      onOverdue: () => {
        isOverdue = true;
      },
    });
    const ran = await testServer.call(key, "POST", "/v1/sessions/s/execute", { command: "echo on" });
    expect(ran.body).toMatchObject({ success: true });
    await takePlace();
    await waitUntil(() => isOverdue);
    letStop();
    expect(await testServer.server.lost).toMatchObject({ code: "STORE_FAILED" });
  });
});

function reluctant(instance: Instance): Instance {
  return new Proxy(instance, {
    get: (target, name) => {
      if (name === "destroy") return () => stopping.then(() => target.destroy());
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

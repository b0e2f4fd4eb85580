import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { goneSignal } from "./session-calls.js";

it.each([
  ["before somebody looks", true],
  ["after that", false],
])("a caller that hangs up %s is gone", async (_, isEarly) => {
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  const caller = new AbortController();
  const seen = new Promise<unknown>((resolve) => {
    app.get("/", async (__, reply) => {
      const closed = once(reply.raw, "close");
      const late = isEarly ? undefined : goneSignal(reply);
      caller.abort();
      await closed;
      resolve((late ?? goneSignal(reply)).reason);
    });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/`, { signal: caller.signal })).rejects.toThrow();
  expect(await seen).toMatchObject({ code: "CANCELLED", message: "The caller is gone" });
});

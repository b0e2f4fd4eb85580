import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { disconnectSignal } from "./disconnect-signal.js";

it.each([
  ["before the signal is made", true],
  ["after that", false],
])("a client that disconnects %s aborts the signal", async (_, isEarly) => {
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  const caller = new AbortController();
  const seen = new Promise<unknown>((resolve) => {
    app.get("/", async (__, reply) => {
      const closed = once(reply.raw, "close");
      const late = isEarly ? undefined : disconnectSignal(reply);
      caller.abort();
      await closed;
      resolve((late ?? disconnectSignal(reply)).reason);
    });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/`, { signal: caller.signal })).rejects.toThrow();
  expect(await seen).toMatchObject({ code: "CANCELLED", message: "The client disconnected" });
});

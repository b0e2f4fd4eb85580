// A process that writes to a store until it is killed, and says what it knows to be written.
//   node store-writer.mjs <url> <name> <how many, 0: without end>
import { randomUUID } from "node:crypto";
import { openStore } from "../../dist/server/store/index.js";

const [url, name, wanted] = process.argv.slice(2);
console.log("opening");
const store = await openStore({ url });
const lease = await store.servers.start({ id: name, url: "http://localhost", leaseMs: 60_000 });
for (let index = 0; Number(wanted) === 0 || index < Number(wanted); index++) {
  // The same keys as every other writer: the first makes the session.
  const { session } = await store.sessions.create("acme", {
    name: `${name}-${index}`,
    settings: { index },
    idempotency: { key: `key-${index}`, request: { index } },
  });
  const claim = await store.servers.claim(lease, "acme", session.name);
  const execution = { org: "acme", id: randomUUID(), server: name, tool: "run_code", startedAt: Date.now() };
  await store.executions.record([execution]);
  await store.executions.record([{ ...execution, end: { at: Date.now(), result: { index } } }]);
  const owner = claim.session.server;
  console.log(JSON.stringify({ index, id: session.id, owner, execution: execution.id }));
}
await store.close();

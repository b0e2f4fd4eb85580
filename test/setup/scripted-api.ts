import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { cleanUp } from "./clean-up.js";

/** A model's API that gives these answers, one a request, and keeps what it was asked. */
export async function openScriptedApi(answers: readonly object[]) {
  const requests: unknown[] = [];
  const server = createServer(async (request, response) => {
    const answer = answers[requests.length];
    requests.push(await json(request));
    response.writeHead(answer === undefined ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { error: { message: "the script has ended" } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

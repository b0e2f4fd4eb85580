import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { askServer } from "./server-request.js";

let answer: { status: number; body: object; headers?: Record<string, string> };
let seen: string[] = [];
const http = createServer(({ url = "" }, response) => {
  seen.push(url);
  const { status, body, headers = {} } = answer;
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
});
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});
afterEach(() => {
  seen = [];
  vi.unstubAllGlobals();
});

it.each(["", "/", "/skerry", "/skerry/"])("asks below the address, also with the path %j", async (prefix) => {
  answer = { status: 200, body: { items: [] } };
  const { body } = await askServer({ url: `${url}${prefix}`, key: "k" }, "GET", "/v1/approvals");
  expect(body).toEqual({ items: [] });
  expect(seen).toEqual([`${prefix.replace(/\/$/, "")}/v1/approvals`]);
});

it.each([
  [
    "UNAUTHENTICATED",
    401,
    {},
    /^Set SKERRY_API_KEY .* --key\. `skerry keys create --name NAME` makes one\.$/,
  ],
  ["RATE_LIMITED", 429, { "retry-after": "7" }, /^Try again in 7 s\.$/],
  ["SERVER_STOPPING", 503, { "retry-after": "5" }, /^Try again in 5 s\.$/],
  ["NOT_FOUND", 404, {}, /^List them\.$/],
  ["FORBIDDEN", 403, {}, /^the server's own$/],
])("has a hint for a shell where the server says %s", async (code, status, headers, hint) => {
  answer = { status, headers, body: { code, message: "no", hint: "the server's own" } };
  const asked = askServer({ url, key: "k" }, "GET", "/v1/x", undefined, {
    hints: { NOT_FOUND: "List them." },
  });
  await expect(asked).rejects.toMatchObject({ code, message: "no", hint: expect.stringMatching(hint) });
});

it("says that a certificate is not trusted, not that the server does not answer", async () => {
  const cause = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed", { cause })));
  await expect(askServer({ url: "https://x.example", key: "k" }, "GET", "/v1/x")).rejects.toMatchObject({
    code: "SERVER_UNREACHABLE",
    message:
      "The certificate of the server at https://x.example is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)",
    hint: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
  });
});

it("says that no server answers", async () => {
  await expect(askServer({ url: "http://127.0.0.1:1/x", key: "k" }, "GET", "/v1/x")).rejects.toMatchObject({
    message: "No Skerry server answers at http://127.0.0.1:1",
    hint: "Check that it runs (skerry serve), and SKERRY_URL or --url.",
  });
});

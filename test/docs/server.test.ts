import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { blocksOf, commandLines, DOCUMENTS } from "./documents.js";
import { directory, environment, HOST, useReader } from "./reader.js";
import { FOR_A_SERVER, runSnippet } from "./run-snippet.js";

useReader();

requires(...HOST, "curl").describe("the requests of the documents do what they say", () => {
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const child = spawn("./skerry", ["serve", "--port", "0", "--json"], {
      cwd: directory,
      // For the examples of ports.
      env: { ...environment, SKERRY_SANDBOX__NETWORK__ALLOW_LOCAL_BINDING: "true" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
    const { url, key } = JSON.parse(line) as { url: string; key: string };
    Object.assign(environment, { SKERRY_URL: url, SKERRY_API_KEY: key });
    stop = async () => {
      child.kill("SIGTERM");
      await ended;
    };
  });
  afterAll(() => stop());

  it.each(commandLines.filter(({ line }) => line.includes("$SKERRY_URL")))(
    "$where $line",
    ({ line, output }) => {
      const { status, stdout } = spawnSync("bash", ["-c", `set -o pipefail; exec 2>&1\n${line}`], {
        cwd: directory,
        env: environment,
        encoding: "utf8",
      });
      expect(status).toBe(0);
      if (output !== undefined) expect(stdout).toBe(output);
    },
  );

  const programs = DOCUMENTS.flatMap((document) => blocksOf(document, "ts")).filter(({ text }) =>
    FOR_A_SERVER.test(text),
  );
  it.each(programs)("$where prints what it says", runSnippet);

  const connections = blocksOf("docs/mcp.md", "json").filter(({ text }) => text.includes("/mcp"));
  it.each(connections)("$where is a connection that the server takes", async ({ text }) => {
    const { url, headers } = connectionOf(JSON.parse(text));
    const address = new URL(url);
    const at = new URL(address.pathname + address.search, environment["SKERRY_URL"]);
    const response = await fetch(at, {
      method: "POST",
      headers: {
        ...headers,
        Authorization: String(headers["Authorization"]).replace(
          /\$\{.*\}|sk_your_key/,
          environment["SKERRY_API_KEY"]!,
        ),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "reader", version: "1" },
        },
      }),
    });
    expect([response.status, response.headers.get("mcp-session-id")]).toEqual([200, expect.any(String)]);
  });
});

interface Connection {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a client's configuration leads to, also by way of a bridge. */
function connectionOf(configuration: Record<string, Record<string, unknown>>): Connection {
  const servers = configuration["mcpServers"] ?? configuration["servers"];
  const server = servers!["skerry"] as Connection & { args?: string[]; env?: Record<string, string> };
  if (server.args === undefined) return server;
  const url = server.args.find((each) => each.startsWith("http"))!;
  const [name, value] = server.args.at(-1)!.split(":") as [string, string];
  const variable = /^\$\{(\w+)\}$/.exec(value)![1]!;
  return { url, headers: { [name]: server.env![variable]! } };
}

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type CallToolResult, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { Person } from "../e2e/mcp-client.js";

export interface McpConnectOptions {
  readonly session?: string;
  readonly role?: string;
  readonly name?: string;
  /** Who answers at the client; left out: it has no elicitation. */
  readonly person?: Person;
  readonly headers?: Record<string, string>;
  /** After `/mcp`. */
  readonly query?: string;
  readonly transport?: Omit<StreamableHTTPClientTransportOptions, "requestInit">;
}

/** The official client, connected to a server's `/mcp`. */
export interface McpHttpClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** What the client complained of. */
  readonly errors: string[];
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
}

/** Connects; the connection is gone when the test has ended. */
export async function connectMcp(
  url: string,
  key: string,
  options: McpConnectOptions = {},
): Promise<McpHttpClient> {
  const { session, role, name = "test-client", person, headers, query = "" } = options;
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
    ...options.transport,
    requestInit: {
      headers: {
        authorization: `Bearer ${key}`,
        ...(session !== undefined && { "x-skerry-session": session }),
        ...(role !== undefined && { "x-skerry-role": role }),
        ...headers,
      },
    },
  });
  const client = new Client(
    { name, version: "1" },
    { capabilities: person === undefined ? {} : { elicitation: {} } },
  );
  const errors: string[] = [];
  client.onerror = (error) => void errors.push(error.message);
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => person(params, signal));
  }
  await client.connect(transport as Transport);
  onTestFinished(async () => {
    await transport.terminateSession().catch(() => undefined);
    await client.close();
  });
  return {
    client,
    transport,
    errors,
    call: async (tool, args = {}) =>
      (await client.callTool({ name: tool, arguments: args }, undefined, {
        timeout: 60_000,
      })) as CallToolResult,
  };
}

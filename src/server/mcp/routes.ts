import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { packageVersion } from "../../kit/package-root.js";
import type { App } from "../http/index.js";
import { disconnectSignal, errorBody, logError } from "../http/index.js";
import type { Protocol, Services } from "../services.js";
import { chosenQuery, chosenSession } from "./chosen-session.js";
import type { McpClient } from "./mcp-client.js";
import { McpService } from "./mcp-service.js";

const message = z.record(z.string(), z.unknown());
/** The SDK's own. */
const MAX_BATCH = 100;
const errors = { "4xx": errorBody, "5xx": errorBody };

/** The Model Context Protocol. */
export const MCP: Protocol = {
  // Most tools change something, and a client without a session gets one.
  access: { "POST /mcp": "write", "GET /mcp": "write", "DELETE /mcp": "write" },
  routes: [["mcp", addMcpRoutes]],
};

/** The Model Context Protocol over streamable HTTP: the tools of a session for one client at a time. */
function addMcpRoutes(app: App, services: Services): void {
  const clients = new McpService({
    services,
    version: packageVersion(),
    onError: (error) => logError(app, error),
  });
  app.addHook("preClose", () => clients.close());

  app.post(
    "/mcp",
    {
      schema: {
        summary: "Messages of an MCP client.",
        description:
          "The Model Context Protocol, streamable HTTP. `initialize` makes an MCP session for the headers X-Skerry-Session " +
          "and X-Skerry-Role; its answer has the header Mcp-Session-Id, which every later request sends.",
        querystring: chosenQuery,
        body: z.union([message, z.array(message).min(1).max(MAX_BATCH)]),
        response: errors,
      },
    },
    async (request, reply) => {
      const id = request.headers["mcp-session-id"];
      if (id !== undefined) {
        await (await clients.find(request.key, String(id))).answer(request, reply);
        return reply;
      }
      if (!isInitializeRequest(request.body)) throw notInitialized();
      const gone = disconnectSignal(reply);
      const { clientInfo } = request.body.params;
      const client = await clients.open(request, chosenSession(request, request.query), clientInfo.name);
      // Only the client that gets this reply knows the id.
      gone.addEventListener("abort", () => void clients.end(client), { once: true });
      try {
        gone.throwIfAborted();
        await client.answer(request, reply);
      } catch (error) {
        await clients.end(client);
        throw error;
      }
      return reply;
    },
  );

  app.get(
    "/mcp",
    {
      config: { subscription: true },
      schema: {
        summary:
          "Messages from the server to an MCP client, as events; or the rest of a stream, after Last-Event-ID.",
        querystring: chosenQuery,
        response: errors,
      },
    },
    async (request, reply) => {
      await (await clientOf(clients, request)).answer(request, reply);
      return reply;
    },
  );

  app.delete(
    "/mcp",
    {
      schema: {
        summary: "End an MCP session: what it runs stops, and a session of its own goes.",
        querystring: chosenQuery,
        response: errors,
      },
    },
    async (request, reply) => {
      await clients.end(await clientOf(clients, request));
      reply.code(204);
    },
  );
}

async function clientOf(clients: McpService, request: FastifyRequest): Promise<McpClient> {
  const id = request.headers["mcp-session-id"];
  if (id === undefined) throw notInitialized();
  return clients.find(request.key, String(id));
}

function notInitialized(): SandboxError {
  return new SandboxError(
    "INVALID_ARGUMENT",
    "Expected the header Mcp-Session-Id, or initialize as the message",
    {
      hint: "POST an initialize message; its answer has the id.",
    },
  );
}

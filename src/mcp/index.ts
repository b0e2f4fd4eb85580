export type { ClientCall, ClientTools } from "./client-call.js";
export { createMcpServer, McpConnection, type McpServerOptions } from "./create-mcp-server.js";
export {
  askByElicitation,
  canElicit,
  clientName,
  ElicitationConfirmationService,
  type Elicited,
  type ElicitOptions,
} from "./elicitation.js";
export { createSessionFiles, type SessionFiles } from "./session-files.js";
export { StdioTransport, type StdioTransportOptions } from "./stdio-transport.js";

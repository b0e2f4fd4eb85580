export { serverOfClientId } from "./client-id.js";
export { MCP } from "./routes.js";

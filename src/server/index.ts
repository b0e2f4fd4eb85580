export { type Access, ROUTES } from "./access.js";
export { ApprovalDesk } from "./approval-desk.js";
export { createServer, type Server, type ServerOptions } from "./create-server.js";
export { type RunningServer, type ServeOptions, serve } from "./serve.js";

export { LiveCallService, liveCallBodyLimit } from "./live-call-service.js";
export { shownCommand, toLiveReply } from "./live-reply.js";
export { ServerProcess } from "./server-process.js";
export { ServerTerminal } from "./server-terminal.js";

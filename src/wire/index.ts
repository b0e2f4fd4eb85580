export { createDeferred, type Deferred } from "./deferred.js";
export { GuestConnection, type GuestStreams } from "./guest-connection.js";
export { encodeFields, type Field, u16, u32 } from "./frames.js";
export type { RunExit, RunHandle, Runner, RunRequest, WarmHandle, WarmRequest } from "./runner.js";

export { createDeferred, type Deferred } from "../../kit/deferred.js";
export { encodeFields, type Field, u32 } from "./frames.js";
export { GuestConnection, type GuestStreams } from "./guest-connection.js";
export type {
  CellLimits,
  CellRequest,
  RunExit,
  RunHandle,
  Runner,
  RunRequest,
  WarmHandle,
  WarmRequest,
} from "./runner.js";

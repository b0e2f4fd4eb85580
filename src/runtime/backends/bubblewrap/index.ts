export { createBubblewrapBackend } from "./backend.js";

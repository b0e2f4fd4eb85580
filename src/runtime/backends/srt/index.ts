export { createSrtBackend } from "./backend.js";

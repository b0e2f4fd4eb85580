export { createSubprocessBackend } from "./backend.js";

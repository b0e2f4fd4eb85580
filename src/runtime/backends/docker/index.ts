export { createDockerBackend, createGvisorBackend } from "./backend.js";

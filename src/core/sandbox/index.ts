export { Sandbox, type SandboxOptions } from "./sandbox.js";

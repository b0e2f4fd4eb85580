import type { BackendDefinition } from "../definition.js";

export const SUBPROCESS = {
  load: async () => (await import("./backend.js")).createSubprocessBackend,
} as const satisfies BackendDefinition;

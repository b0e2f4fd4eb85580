import type { BackendDefinition } from "../definition.js";
import { BUBBLEWRAP_DEFAULTS, type BubblewrapConfig } from "./settings.js";

export type { BubblewrapConfig };

export const BUBBLEWRAP = {
  load: async () => (await import("./backend.js")).createBubblewrapBackend,
  settings: {
    defaults: BUBBLEWRAP_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).bubblewrapSchema,
  },
} as const satisfies BackendDefinition<BubblewrapConfig>;

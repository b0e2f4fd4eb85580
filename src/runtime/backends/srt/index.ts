import type { BackendDefinition } from "../definition.js";
import { SRT_DEFAULTS, type SrtConfig } from "./settings.js";

export type { SrtConfig };

export const SRT = {
  load: async () => (await import("./backend.js")).createSrtBackend,
  settings: {
    defaults: SRT_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).srtSchema,
    // On Linux sandbox-runtime starts bubblewrap.
    basedOn: "bubblewrap",
  },
} as const satisfies BackendDefinition<SrtConfig>;

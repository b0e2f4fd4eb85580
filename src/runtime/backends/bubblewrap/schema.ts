import { z } from "zod";
import { absolutePath } from "../../../kit/schema-fields.js";
import { BUBBLEWRAP_DEFAULTS } from "./settings.js";

const { uidRange } = BUBBLEWRAP_DEFAULTS;

export const bubblewrapSchema = z
  .strictObject({
    path: absolutePath.optional(),
    uidRange: z
      .strictObject({
        start: z.number().int().min(65_536).max(4_294_000_000).default(uidRange.start),
        count: z.number().int().min(1).max(16_777_216).default(uidRange.count),
      })
      .refine(({ start, count }) => start + count <= 4_294_967_294, {
        error: "the range goes beyond 32 bits",
      })
      .prefault({}),
  })
  .prefault({});

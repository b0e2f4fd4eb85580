import { z } from "zod";
import { text } from "../../../kit/schema-fields.js";
import { SRT_DEFAULTS } from "./settings.js";

export const srtSchema = z
  .strictObject({ settingsPath: text.default(SRT_DEFAULTS.settingsPath) })
  .prefault({});

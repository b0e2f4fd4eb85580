import { z } from "zod";
import { runtimeName } from "../../../kit/schema-fields.js";
import { GVISOR_DEFAULTS } from "./settings.js";

export const gvisorSchema = z
  .strictObject({ runtime: runtimeName.default(GVISOR_DEFAULTS.runtime) })
  .prefault({});

import type { Attack } from "./attack.js";
import { fileAttacks } from "./files.js";
import { hostFileAttacks } from "./host-file-api.js";
import { informationAttacks } from "./information.js";
import { networkAttacks } from "./network.js";
import { processAttacks } from "./processes.js";
import { resourceAttacks } from "./resources.js";

export const ATTACKS: readonly Attack[] = [
  ...fileAttacks,
  ...processAttacks,
  ...networkAttacks,
  ...resourceAttacks,
  ...hostFileAttacks,
  ...informationAttacks,
];

import type { Attack } from "./attack.js";
import { busyHostAttacks } from "./busy-host.js";
import { fileAttacks } from "./files.js";
import { fugitiveAttacks } from "./fugitives.js";
import { guestAttacks } from "./guest-takeover.js";
import { hostFileAttacks } from "./host-file-api.js";
import { hostProcessAttacks } from "./host-processes.js";
import { informationAttacks } from "./information.js";
import { kernelAttacks } from "./kernel-calls.js";
import { limitAttacks } from "./limits.js";
import { neighbourAttacks } from "./neighbours.js";
import { networkAttacks } from "./network.js";

export const ATTACKS: readonly Attack[] = [
  ...fileAttacks,
  ...hostProcessAttacks,
  ...guestAttacks,
  ...kernelAttacks,
  ...fugitiveAttacks,
  ...neighbourAttacks,
  ...networkAttacks,
  ...limitAttacks,
  ...busyHostAttacks,
  ...hostFileAttacks,
  ...informationAttacks,
];

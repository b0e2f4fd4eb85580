import type { Command } from "commander";
import { defineApprovals } from "./approvals/index.js";
import { defineAudit } from "./audit/index.js";
import { defineBench } from "./bench/index.js";
import { defineCompletion } from "./completion/index.js";
import { defineDoctor } from "./doctor/index.js";
import { defineEgress } from "./egress/index.js";
import { defineEval } from "./eval/index.js";
import { defineExec } from "./exec/index.js";
import { defineFiles } from "./files/index.js";
import { defineImage } from "./image/index.js";
import { defineKeys } from "./keys/index.js";
import { defineMcp } from "./mcp/index.js";
import { definePolicy } from "./policy/index.js";
import { definePool } from "./pool/index.js";
import { definePort } from "./port/index.js";
import { defineApply, defineDiff, defineDiscard } from "./project/index.js";
import { defineRisk } from "./risk/index.js";
import { defineRun } from "./run/index.js";
import { defineServe } from "./serve/index.js";
import { defineSessions } from "./sessions/index.js";
import { defineShell } from "./shell/index.js";
import { defineSnapshots } from "./snapshots/index.js";
import { defineStatus } from "./status/index.js";
import { defineTest } from "./test/index.js";
import { defineVersion } from "./version/index.js";

/** Every command, in the order of the help. */
export const COMMANDS: readonly ((program: Command) => void)[] = [
  defineRun,
  defineExec,
  defineShell,
  defineTest,
  defineDiff,
  defineApply,
  defineDiscard,
  defineFiles,
  defineSessions,
  defineSnapshots,
  definePort,
  defineEgress,
  defineEval,
  defineMcp,
  definePool,
  definePolicy,
  defineRisk,
  defineAudit,
  defineImage,
  defineServe,
  defineStatus,
  defineKeys,
  defineApprovals,
  defineDoctor,
  defineBench,
  defineVersion,
  defineCompletion,
];

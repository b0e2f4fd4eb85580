import { createHash, randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import type { SandboxManager } from "../../../core/manager/index.js";
import { toSandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { expandHome } from "../../../kit/expand-home.js";
import { unlessMissing } from "../../../kit/if-missing.js";
import type { ClientTools } from "../../../mcp/index.js";

/** Older checkpoints are deleted. */
const KEPT = 50;
const NAME = /^before \w+ \(checkpoint ([0-9a-f]{6})([0-9a-f]{10})\)$/;

/** A name that is ours, in later processes, too, and that nobody types by chance: a person's own snapshots are never deleted. */
function checkpointName(tool: string, sessionId: string): string {
  const random = randomBytes(3).toString("hex");
  return `before ${tool} (checkpoint ${random}${sealOf(random, sessionId)})`;
}

function isCheckpoint(name: string | undefined, sessionId: string): boolean {
  const [, random = "", seal] = NAME.exec(name ?? "") ?? [];
  return seal !== undefined && seal === sealOf(random, sessionId);
}

function sealOf(random: string, sessionId: string): string {
  return createHash("sha256").update(`${random} ${sessionId}`).digest("hex").slice(0, 10);
}

/** The session of a project that names none: the same for the same directory, and one that a person can type. */
export function projectSessionName(directory: string): string {
  const path = expandHome(directory);
  const real = unlessMissing(path, () => realpathSync(path));
  const name = basename(real)
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 40);
  return `${name}-${createHash("sha256").update(real).digest("hex").slice(0, 6)}`;
}

/**
 * The same tools, with a snapshot of the session's files before each call that may change some: whatever a model does can be undone.
 * Where none can be taken the call goes on, and `warn` hears of it once.
 */
export function withCheckpoints(
  tools: ClientTools,
  manager: SandboxManager,
  sessionId: string,
  warn: (message: string) => void,
): ClientTools {
  let isWarned = false;
  const checkpoint = async (name: string) => {
    try {
      const sandbox = await manager.startSandbox(sessionId);
      await sandbox.snapshot({ name: checkpointName(name, sessionId) });
      const old = (await sandbox.listSnapshots())
        .filter((each) => isCheckpoint(each.name, sessionId))
        .slice(KEPT);
      for (const { id } of old) await sandbox.deleteSnapshot(id);
    } catch (error) {
      if (!isWarned) warn(`no checkpoint: ${escapeUnsafe(toSandboxError(error).message)}`);
      isWarned = true;
    }
  };
  return {
    tools: tools.tools,
    list: () => tools.list(),
    call: async (name, args, options) => {
      const tool = tools.tools.find((each) => each.name === name);
      if (tool !== undefined && tool.annotations.readOnlyHint !== true) await checkpoint(name);
      return tools.call(name, args, options);
    },
  };
}

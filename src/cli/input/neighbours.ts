import { dirname } from "node:path";
import type { Config } from "../../core/config/index.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { MIB } from "../../kit/units.js";
import type { LeftOut } from "../../runtime/projects/index.js";
import { parseInnerPath } from "../../runtime/workspace/index.js";
import type { ExecuteOptions, Transfer } from "../definition/index.js";
import { stderr } from "../output/index.js";

/** More than this is copied in only when it is asked for with --mount. */
const LIMITS = { maxFiles: 500, maxBytes: 10 * MIB };

/** A program that is a file of this machine. */
export interface ProgramFile {
  readonly path: string;
  /** Its name inside. */
  readonly name: string;
}

/**
 * What is beside a program's file and below, so that its imports work. A session has files of its own, --mount says which go in,
 * and where calls are decided about, each file would be a decision: then there are none.
 */
export async function neighboursOf(
  program: ProgramFile | undefined,
  config: Config,
  options: ExecuteOptions & { readonly alone?: boolean },
): Promise<readonly Transfer[]> {
  const { session, mount, alone, policy, securityMode, confirm, input = [] } = options;
  if (program === undefined || alone === true || session !== undefined || mount !== undefined) return [];
  const { sandbox } = config;
  const guards = [policy, securityMode, confirm, sandbox.policy.file, sandbox.securityMode];
  const isDecided = guards.some((guard) => guard !== undefined);
  // Nobody would be told.
  if (isDecided && !stderr.isTerminal) return [];
  const [{ listNeighbours }, { stateDirectoryOf }] = await Promise.all([
    import("../../runtime/projects/index.js"),
    import("../../kit/state-directory.js"),
  ]);
  const found = await listNeighbours(dirname(program.path), {
    stateDir: stateDirectoryOf(sandbox),
    limits: LIMITS,
    except: program.name,
  });
  if (isDecided) {
    if (found.files.length > 0) await stderr.write(aloneText(program.name));
    return [];
  }
  if (stderr.isTerminal) await tell(program.name, found.files.length, found.leftOut, found.alone);
  const given = new Set(input.map(({ path }) => parseInnerPath(path).text));
  return found.files.filter(({ path }) => !given.has(path));
}

function aloneText(name: string): string {
  return `skerry: ${escapeUnsafe(name)} runs alone, since its calls are decided about (policy, --security-mode, --confirm); --mount . copies the directory in\n`;
}

async function tell(
  name: string,
  files: number,
  leftOut: readonly LeftOut[],
  alone: string | undefined,
): Promise<void> {
  const program = escapeUnsafe(name);
  if (alone !== undefined)
    await stderr.write(`skerry: ${program} runs alone, ${alone}; --mount DIR copies a directory in\n`);
  if (files === 0) return;
  const secrets = leftOut.filter(({ why }) => why === "secret").length;
  const left = secrets === 0 ? "" : `, without ${secrets} ${secrets === 1 ? "secret" : "secrets"}`;
  await stderr.write(
    `skerry: ${program} runs with the ${files === 1 ? "file" : `${files} files`} beside it${left}; --alone leaves them out\n`,
  );
}

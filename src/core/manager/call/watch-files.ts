import type { OptionNames } from "../../../kit/check-options.js";
import { parseRelativePath } from "../../../runtime/workspace/index.js";
import { listVisible, type WatchedDirectory } from "../files/file-watch.js";
import { type FileCall, type FileResult, type SessionTask, workValue } from "./file-call.js";

/** A directory of a session to watch, and on whose behalf. */
export interface WatchCall
  extends Pick<SessionTask, "sessionId" | "agentId" | "orgId" | "role" | "backend" | "signal" | "requestId"> {
  /** Relative to the workspace. Left out: all of it. */
  readonly path?: string | undefined;
  /** False: only what stands in the directory itself. */
  readonly recursive?: boolean | undefined;
}

export const WATCH_OPTIONS: OptionNames<WatchCall> = {
  sessionId: true,
  agentId: true,
  orgId: true,
  role: true,
  backend: true,
  signal: true,
  requestId: true,
  path: true,
  recursive: true,
};

/** The first look: a tool call like any other. What the policy lets it see is all that is ever told. */
export async function openWatch(
  { path, recursive = true, ...caller }: WatchCall,
  useFiles: <Value>(call: FileCall<Value>) => Promise<FileResult<Value>>,
): Promise<WatchedDirectory> {
  const directory = parseRelativePath(path ?? ".").text || ".";
  const result = await useFiles<WatchedDirectory>({
    ...caller,
    tool: "file_list",
    summary: `watch ${directory}`,
    paths: [{ path: directory, access: "read" }],
    work: async ({ files, maySee }) => {
      const watched = { path: directory, recursive, maySee };
      return { ...watched, entries: await listVisible(files, watched) };
    },
  });
  return workValue(result);
}

import { type GuardedFiles, type SandboxManager, workValue } from "../core/manager/index.js";
import type { ToolCaller } from "../core/tools/index.js";
import { SandboxError } from "../kit/errors.js";
import type { Entry } from "../runtime/workspace/index.js";
import type { ClientCall } from "./client-call.js";

/** The files that a client may see as resources. */
export interface SessionFiles {
  /** Every regular file that may be seen. */
  list(call: ClientCall): Promise<readonly Entry[]>;
  /** Refuses a file that is larger. */
  read(path: string, maxBytes: number, call: ClientCall): Promise<Buffer>;
}

/** The files of a caller's session. Each look at them takes the manager's steps, as a file tool's does. */
export function createSessionFiles(manager: SandboxManager, caller: ToolCaller): SessionFiles {
  const use = async <Value>(
    { signal, requestId }: ClientCall,
    job: {
      readonly tool: string;
      readonly summary: string;
      readonly path: string;
      readonly work: (files: GuardedFiles) => Promise<Value>;
    },
  ): Promise<Value> => {
    const { path, ...rest } = job;
    const paths = [{ path, access: "read" }] as const;
    return workValue(await manager.useFiles({ ...caller, ...rest, paths, signal, requestId }));
  };
  return {
    list: (call) =>
      use(call, {
        tool: "file_list",
        summary: "list the workspace",
        path: ".",
        work: async ({ files, maySee }) =>
          (await files.list(".", { recursive: true })).filter(
            ({ path, type }) => type === "file" && maySee(path),
          ),
      }),
    read: (path, maxBytes, call) =>
      use(call, {
        tool: "file_read",
        summary: `read ${path}`,
        path,
        work: async ({ files }) => {
          const { size } = await files.stat(path);
          if (size > maxBytes) throw tooLarge(path, size, maxBytes);
          const content = await files.read(path);
          // It may have grown since.
          if (content.length > maxBytes) throw tooLarge(path, content.length, maxBytes);
          return content;
        },
      }),
  };
}

function tooLarge(path: string, size: number, maxBytes: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `${JSON.stringify(path)} has ${size} bytes; the maximum is ${maxBytes}`,
    { hint: "Read a part of it with file_read, or read it with run_code." },
  );
}

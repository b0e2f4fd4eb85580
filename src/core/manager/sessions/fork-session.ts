import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { WorkspaceFiles } from "../../../runtime/workspace/index.js";
import type { LiveSandboxes, StartOptions } from "../sandboxes/live-sandboxes.js";
import type { SessionStore, StoredSession } from "./session-store.js";

/** A new session, and what its workspace is filled with. */
export interface ForkRequest extends Pick<StartOptions, "limits" | "signal"> {
  readonly key: string;
  readonly backend: string;
  readonly fill: (files: WorkspaceFiles) => Promise<void>;
}

/**
 * Makes a session that starts with what `fill` puts into it. That happens in a directory that is nobody's, which becomes
 * the session's by one rename when it is filled: whoever is killed before leaves no session, and of two only one gets
 * the name.
 */
export async function forkSession(
  { key, fill, ...options }: ForkRequest,
  sandboxes: Pick<LiveSandboxes, "get" | "start">,
  store: SessionStore,
): Promise<RunningSandbox> {
  if (store.exists(key)) throw sessionExists(key);
  let session: StoredSession | undefined;
  try {
    const opened = (made: StoredSession) => {
      session = made;
    };
    const filling = await sandboxes.start(key, options, { fill, opened });
    // Programs of some backends see the directory by its name.
    await filling.stop();
    if (store.adopt(session!, key) === undefined) throw sessionExists(key);
  } catch (error) {
    if (session !== undefined) await store.discardEphemeral(session);
    throw error;
  }
  try {
    return await sandboxes.get(key, options);
  } catch (error) {
    await store.delete(key);
    throw error;
  }
}

function sessionExists(key: string): SandboxError {
  return new SandboxError("FILE_EXISTS", `There already is a session ${JSON.stringify(key)}`, {
    hint: "Fork into a session of another name, or delete this one first.",
  });
}

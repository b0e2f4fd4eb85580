import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { StoredSession } from "../sessions/session-directory.js";
import type { SessionStore } from "../sessions/session-store.js";
import type { ForkRequest, InitialContent, StartOptions } from "./start-request.js";

/** What starts sandboxes: a session's, or one that is thrown away. */
interface SandboxSource {
  get(key: string, options: StartOptions): Promise<RunningSandbox>;
  start(key: string, options: StartOptions, content: InitialContent): Promise<RunningSandbox>;
}

/**
 * Makes a session that starts with what `fill` puts into it. That happens in a directory of no session, which becomes
 * the session's by one rename when it is filled: a process that is killed before leaves no session, and of two forks
 * only one gets the name.
 */
export async function forkSession(
  { key, source, fill, ...options }: ForkRequest,
  sandboxes: SandboxSource,
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
    if (store.adopt(session!, key, store.isTemporary(source)) === undefined) throw sessionExists(key);
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
  return new SandboxError("CONFLICT", `There already is a session ${JSON.stringify(key)}`, {
    hint: "Fork into a session of another name, or delete this one first.",
  });
}

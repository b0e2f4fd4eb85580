import type { Store } from "../store/index.js";

/** The uid of the session that a filter names by either. */
export async function uidOf(
  store: Store,
  org: string,
  named: string | undefined,
): Promise<string | undefined> {
  return named === undefined ? undefined : ((await store.sessions.get(org, named))?.id ?? named);
}

/** What replies say of the session of each record, by the uid that the store keeps. */
export async function sessionsOf(
  store: Store,
  org: string,
  records: readonly { readonly session: string | undefined }[],
): Promise<(record: { readonly session: string | undefined }) => SessionIds> {
  const uids = new Set(records.flatMap(({ session }) => session ?? []));
  const names = await store.sessions.namesOf(org, [...uids]);
  return ({ session: sessionUid }) => {
    if (sessionUid === undefined) return {};
    const sessionId = names.get(sessionUid);
    return { sessionUid, ...(sessionId !== undefined && { sessionId }) };
  };
}

interface SessionIds {
  readonly sessionId?: string;
  readonly sessionUid?: string;
}

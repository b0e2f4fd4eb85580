import type { SessionRecord } from "../store/index.js";

/** What holds for every call in a session. */
export interface SessionSettings {
  readonly backend?: string;
}

/** The settings that a session was created with. */
export function settingsOf({ settings }: Pick<SessionRecord, "settings">): SessionSettings {
  return settings as SessionSettings;
}

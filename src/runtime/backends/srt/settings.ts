export interface SrtConfig {
  readonly settingsPath: string;
}

/** What no configuration means. */
export const SRT_DEFAULTS: SrtConfig = { settingsPath: "~/.skerry/srt-settings.json" };

import type { z } from "zod";
import type { BackendContext, BackendFactory } from "./backend.js";

/** What a schema makes of settings: for zod a field that may be left out may also be undefined. */
export type Parsed<Settings> = {
  [Key in keyof Settings]: Settings[Key] | (object extends Pick<Settings, Key> ? undefined : never);
};

/** A backend's block under `sandbox.backends`. */
export interface SettingsDefinition<Settings> {
  /** What no configuration means. */
  readonly defaults: Settings;
  /** Loads the block's schema, and zod with it. No block at all is `{}`. */
  loadSchema(): Promise<z.ZodPrefault<z.ZodType<Parsed<Settings>>>>;
  /** The backend whose block is read too; the own block wins. */
  readonly basedOn?: string;
  /** True: the block may also stand right under `sandbox`. */
  readonly hasShortName?: boolean;
  /** A field whose keys are languages: the manager refuses a language that it does not know. */
  readonly byLanguage?: string;
}

/** What a backend's folder exports as its face: everything that is known before its libraries are loaded. */
export interface BackendDefinition<Settings = unknown> {
  /** Loads the backend's libraries. Left out: it has settings, and cannot be chosen yet. */
  load?(): Promise<BackendFactory>;
  /** Left out: it has no settings. */
  readonly settings?: SettingsDefinition<Settings>;
  /** True: `doctor --fix` does not install it. */
  readonly isInstalledByHand?: boolean;
  /**
   * Removes what killed processes left, for a process that uses another backend. It must be cheap, and load nothing,
   * where nothing is left. Left out: `reap` of the backend that is used is enough.
   */
  reapUnused?(context: BackendContext): Promise<number>;
}

import type { z } from "zod";
import { suggestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import type { BackendContext, BackendFactory, SandboxBackend } from "./backend.js";
import { BUBBLEWRAP } from "./bubblewrap/index.js";
import type { BackendDefinition, Parsed, SettingsDefinition } from "./definition.js";
import { DOCKER } from "./docker/index.js";
import { GVISOR } from "./gvisor/index.js";
import { findUserRange, type UserRange } from "./linux/user-range.js";
import { OPENSANDBOX } from "./opensandbox/index.js";
import { SRT } from "./srt/index.js";
import { SUBPROCESS } from "./subprocess/index.js";

/**
 * The one list of backends: a new one is a folder and a line here. `auto` takes the first that isolates on this host.
 * Not by strength alone: gVisor stands behind Docker, since it costs more and lacks things; a user who wants it asks for
 * it, or for the isolation `kernel`.
 */
const BUILT_IN = {
  bubblewrap: BUBBLEWRAP,
  srt: SRT,
  docker: DOCKER,
  gvisor: GVISOR,
  opensandbox: OPENSANDBOX,
  subprocess: SUBPROCESS,
};

/** The blocks of the built-in backends under `sandbox.backends`. */
export type BackendSettings = {
  readonly [Name in keyof typeof BUILT_IN as (typeof BUILT_IN)[Name] extends { settings: unknown }
    ? Name
    : never]: (typeof BUILT_IN)[Name] extends { settings: { defaults: infer Defaults } } ? Defaults : never;
};

const definitions: ReadonlyMap<string, BackendDefinition> = new Map(Object.entries(BUILT_IN));

const registered = new Map<string, BackendFactory>();

/** Adds a backend under a name of its own. Authors test theirs with `skerry/testing`. */
export function registerBackend(name: string, factory: BackendFactory): void {
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name === "auto") {
    throw new SandboxError("INVALID_ARGUMENT", `Not a name for a backend: ${JSON.stringify(name)}`, {
      hint: "Use lower-case letters, digits and dashes; auto is taken.",
    });
  }
  if (definitions.has(name) || registered.has(name)) {
    throw new SandboxError("INVALID_ARGUMENT", `A backend is already registered as ${name}`);
  }
  registered.set(name, factory);
}

/** The names for a configuration, built-in ones first. */
export function listBackends(): string[] {
  const builtIn = [...definitions].filter(([, { load }]) => load !== undefined).map(([name]) => name);
  return [...builtIn, ...registered.keys()];
}

/** Builds a backend by name. Its libraries are loaded here, not before. */
export async function getBackend(name: string, context: BackendContext): Promise<SandboxBackend> {
  const factory = registered.get(name) ?? (await definitions.get(name)?.load?.());
  if (factory === undefined) throw unknownBackend(name);
  return factory(context);
}

/** A backend's options, from all blocks under `sandbox.backends`. */
export function backendOptions(name: string, blocks: Readonly<Record<string, unknown>>): unknown {
  const base = settingsBaseOf(name);
  return base === undefined ? blocks[name] : { ...(blocks[base] as object), ...(blocks[name] as object) };
}

/** The backend whose block another one reads too. */
export function settingsBaseOf(name: string): string | undefined {
  return definitions.get(name)?.settings?.basedOn;
}

/** Built-in backends whose block may also stand right under `sandbox`. */
export const SHORT_NAMES: readonly string[] = [...definitions]
  .filter(([, { settings }]) => settings?.hasShortName)
  .map(([name]) => name);

/** The settings of every built-in backend where no configuration says otherwise. */
export const BACKEND_DEFAULTS = fromSettings(({ defaults }) => defaults) as BackendSettings;

/** The schemas of the blocks of built-in backends. Loads zod. */
export async function loadBackendSchemas(): Promise<{
  readonly [Name in keyof BackendSettings]: z.ZodPrefault<z.ZodType<Parsed<BackendSettings[Name]>>>;
}> {
  const loading = Object.entries(fromSettings((settings) => settings.loadSchema()));
  const loaded = await Promise.all(loading.map(async ([name, schema]) => [name, await schema]));
  return Object.fromEntries(loaded);
}

/** Settings that are given by language, with the languages that `blocks` names. */
export function settingsByLanguage(
  blocks: Readonly<Record<string, unknown>>,
): { readonly path: string; readonly languages: readonly string[] }[] {
  return [...definitions].flatMap(([name, { settings }]) => {
    const field = settings?.byLanguage;
    if (field === undefined) return [];
    const block = blocks[name] as Readonly<Record<string, object>>;
    return { path: `${name}.${field}`, languages: Object.keys(block[field] ?? {}) };
  });
}

/** The user ids of which root gives each sandbox one, whatever its backend is. None of them: the count is 0. */
export function userRangeOf({ bubblewrap }: BackendSettings): UserRange {
  return findUserRange(bubblewrap.uidRange) ?? { ...bubblewrap.uidRange, count: 0 };
}

/** False: `doctor --fix` may install what the backend lacks. */
export function isInstalledByHand(name: string): boolean {
  return definitions.get(name)?.isInstalledByHand ?? false;
}

/** Removes what killed processes left in backends that this process does not use; resolves to how many things. */
export async function reapUnusedBackends(
  stateDir: string,
  blocks: Readonly<Record<string, unknown>>,
): Promise<number> {
  let count = 0;
  for (const [name, { reapUnused }] of definitions) {
    count += (await reapUnused?.({ stateDir, options: backendOptions(name, blocks) })) ?? 0;
  }
  return count;
}

function fromSettings<Result>(
  take: (settings: SettingsDefinition<unknown>) => Result,
): Record<string, Result> {
  return Object.fromEntries(
    [...definitions].flatMap(([name, { settings }]) =>
      settings === undefined ? [] : [[name, take(settings)]],
    ),
  );
}

/** BACKEND_UNKNOWN: there is no such backend. Whether it works here is another question. */
export function checkBackendName(name: string): void {
  if (name !== "auto" && !listBackends().includes(name)) throw unknownBackend(name);
}

function unknownBackend(name: string): SandboxError {
  return new SandboxError("BACKEND_UNKNOWN", `There is no backend named ${JSON.stringify(name)}`, {
    hint: suggestWord(name, ["auto", ...listBackends()], "Known backends"),
  });
}

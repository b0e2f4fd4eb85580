import { join } from "node:path";
import type { ClientConfiguration } from "./client.js";
import { readMirror } from "./mirror.js";
import { parseSections } from "./sections.js";
import { type ClientSources, variable } from "./sources.js";

const DEFAULT_HOST = "registry.npmjs.org";
/** Of an address that stays outside. */
const PRIVATE = "";
const RC = "/tmp/.skerry/npmrc";

/** npm, pnpm and yarn. A project's own `.npmrc` has no say: whoever wrote the project wrote that. */
export function readNpm(sources: ClientSources): ClientConfiguration {
  const scopes = new Map<string, string>();
  for (const path of filesOf(sources)) {
    for (const { section, key, value } of parseSections(sources.read(path) ?? "")) {
      const isRegistry = key === "registry" || /^@[^:]+:registry$/.test(key);
      if (section.length === 0 && isRegistry) scopes.set(key, expanded(value, sources) ?? PRIVATE);
    }
  }
  for (const [name, value] of Object.entries(sources.env)) {
    if (/^npm_config_registry$/i.test(name) && value) scopes.set("registry", value);
  }
  const registry = scopes.get("registry");
  const isDefault = registry === undefined || readMirror(registry)?.host === DEFAULT_HOST;
  if (isDefault) scopes.delete("registry");
  const lines = [...scopes].flatMap(([key, value]) => {
    const mirror = readMirror(value);
    return mirror === undefined ? [] : [`${key}=${mirror.url}\n`];
  });
  const named = scopes.get("registry");
  return {
    urls: [...scopes.values()].filter((value) => value !== PRIVATE),
    hasPrivateEntries: [...scopes.values()].includes(PRIVATE),
    ...(isDefault && { hosts: [DEFAULT_HOST] }),
    environment: {
      ...(named !== undefined && { npm_config_registry: readMirror(named)?.url }),
      ...(lines.length > 0 && { npm_config_globalconfig: RC }),
    },
    ...(lines.length > 0 && { files: [{ path: RC, text: lines.join("") }] }),
  };
}

/** The later one wins. */
function filesOf(sources: ClientSources): string[] {
  const named = (name: string) =>
    variable(sources, `npm_config_${name}`) ?? variable(sources, `NPM_CONFIG_${name.toUpperCase()}`);
  const shared = named("globalconfig");
  return [
    ...(shared === undefined ? ["/etc/npmrc", join(sources.nodePrefix, "etc/npmrc")] : [shared]),
    named("userconfig") ?? join(sources.home, ".npmrc"),
  ];
}

/** Undefined: a variable stands in the path, where it may be a token. A whole registry or its host may be in one. */
function expanded(text: string, { env }: ClientSources): string | undefined {
  let isPrivate = false;
  const expand = (part: string): string =>
    part.replace(/\$\{(\w+)\??\}/g, (whole, name: string, offset: number) => {
      if (!/^(?:https?:\/\/[^/?#]*)?$/i.test(expand(part.slice(0, offset)))) isPrivate = true;
      return env[name] ?? whole;
    });
  const value = expand(text);
  return isPrivate ? undefined : value;
}

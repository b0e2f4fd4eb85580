import { join } from "node:path";
import type { ClientConfiguration } from "./client.js";
import { type Mirror, readMirror } from "./mirror.js";
import { parseSections } from "./sections.js";
import { type ClientSources, configHome, variable } from "./sources.js";

const INDEX = ["https://pypi.org/simple"];
const DEFAULT_HOSTS = ["pypi.org", "files.pythonhosted.org"];

/** pip, and uv, which reads other variables and none of pip's files. */
export function readPip(sources: ClientSources): ClientConfiguration {
  const options = readOptions(sources);
  const own = options.get("index-url") ?? [];
  const extra = options.get("extra-index-url") ?? [];
  const mirrors = [...own, ...extra].flatMap(asMirror);
  const isDefault = own.length === 0 || own.every((url) => INDEX.includes(url.replace(/\/$/, "")));
  const url = (texts: readonly string[]) => texts.flatMap(asMirror).map((mirror) => mirror.url);
  const trusted = trustedHosts(options.get("trusted-host") ?? [], mirrors);
  return {
    urls: [...own, ...extra],
    ...(isDefault && { hosts: DEFAULT_HOSTS }),
    environment: {
      ...(!isDefault && { PIP_INDEX_URL: url(own).at(-1), UV_DEFAULT_INDEX: url(own).at(-1) }),
      ...(extra.length > 0 && { PIP_EXTRA_INDEX_URL: url(extra).join(" "), UV_INDEX: url(extra).join(" ") }),
      ...(trusted.length > 0 && { PIP_TRUSTED_HOST: trusted.join(" ") }),
    },
  };
}

function asMirror(text: string): Mirror[] {
  const mirror = readMirror(text);
  return mirror === undefined ? [] : [mirror];
}

/** pip takes plain HTTP from its own loopback unasked; the same mirror has another name inside. */
function trustedHosts(named: readonly string[], mirrors: readonly Mirror[]): string[] {
  const isNamed = ({ host, port }: Mirror) => named.includes(host) || named.includes(`${host}:${port}`);
  const isOwn = ({ url }: Mirror) => /^http:\/\/host\.skerry\.internal[:/]/.test(url);
  return [...new Set(mirrors.filter((mirror) => isNamed(mirror) || isOwn(mirror)).map(({ host }) => host))];
}

/** The later file wins, then the variables. Values that list several are split. */
function readOptions(sources: ClientSources): ReadonlyMap<string, readonly string[]> {
  const options = new Map<string, readonly string[]>();
  const set = (key: string, value: string) => options.set(key, value.split(/\s+/).filter(Boolean));
  for (const path of filesOf(sources)) {
    const entries = parseSections(sources.read(path) ?? "");
    for (const name of ["global", "install"]) {
      for (const { section, key, value } of entries)
        if (section[0] === name) set(key.replaceAll("_", "-"), value);
    }
  }
  for (const key of ["index-url", "extra-index-url", "trusted-host"]) {
    const value = variable(sources, `PIP_${key.toUpperCase().replaceAll("-", "_")}`);
    if (value !== undefined) set(key, value);
  }
  return options;
}

function filesOf(sources: ClientSources): string[] {
  const { home } = sources;
  const named = variable(sources, "PIP_CONFIG_FILE");
  if (named === "/dev/null") return [];
  const shared = (variable(sources, "XDG_CONFIG_DIRS") ?? "/etc/xdg").split(":");
  const venv = variable(sources, "VIRTUAL_ENV");
  return [
    ...shared.map((directory) => join(directory, "pip/pip.conf")),
    "/etc/pip.conf",
    ...(named === undefined ? [join(home, ".pip/pip.conf"), join(configHome(sources), "pip/pip.conf")] : []),
    ...(venv === undefined ? [] : [join(venv, "pip.conf")]),
    ...(named === undefined ? [] : [named]),
  ];
}

import { join } from "node:path";
import type { ClientConfiguration } from "./client.js";
import { readMirror } from "./mirror.js";
import { parseSections, type SectionEntry } from "./sections.js";
import { type ClientSources, variable } from "./sources.js";

const DEFAULT_HOSTS = ["index.crates.io", "static.crates.io", "crates.io"];
const HOME = "/tmp/.skerry/cargo";

/** cargo takes the replacement of a source from files only, so it gets one. */
export function readCargo(sources: ClientSources): ClientConfiguration {
  const entries = readEntries(sources);
  const find = (...path: readonly string[]) =>
    entries.find(({ section, key }) => [...section, key].join("\0") === path.join("\0"))?.value;
  const source = replacementOf("crates-io", (name) => find("source", name, "replace-with"));
  const replaced =
    source === "crates-io"
      ? undefined
      : (find("source", source, "registry") ?? find("registries", source, "index"));
  const registries = entries.filter(({ section, key }) => section[0] === "registries" && key === "index");
  const lines = [
    ...(replaced === undefined ? [] : replacement(replaced)),
    ...registries.flatMap(({ section, value }) => table(["registries", section[1] ?? ""], "index", value)),
  ];
  const strange = entries.find(isStrange);
  return {
    ...(strange !== undefined && {
      notUnderstood: `${[...strange.section, strange.key].join(".")} of config.toml`,
    }),
    urls: [...(replaced === undefined ? [] : [replaced]), ...registries.map(({ value }) => value)],
    ...(replaced === undefined && { hosts: DEFAULT_HOSTS }),
    environment: { ...(lines.length > 0 && { CARGO_HOME: HOME }) },
    ...(lines.length > 0 && { files: [{ path: `${HOME}/config.toml`, text: `${lines.join("\n")}\n` }] }),
  };
}

/** Follows the chain as cargo does; a circle ends where it began. */
function replacementOf(name: string, replacing: (name: string) => string | undefined): string {
  const seen = new Set<string>();
  let source = name;
  for (let next = replacing(source); next !== undefined && !seen.has(next); next = replacing(source)) {
    seen.add(next);
    source = next;
  }
  return source;
}

function replacement(url: string): string[] {
  const mirror = table(["source", "mirror"], "registry", url);
  return mirror.length === 0 ? [] : [...table(["source", "crates-io"], "replace-with"), ...mirror];
}

function table(path: readonly string[], key: string, url?: string): string[] {
  const value = url === undefined ? "mirror" : readMirror(url)?.url;
  if (value === undefined) return [];
  return [`[${path.map((part) => JSON.stringify(part)).join(".")}]`, `${key} = ${JSON.stringify(value)}`];
}

function readEntries(sources: ClientSources): SectionEntry[] {
  const home = variable(sources, "CARGO_HOME") ?? join(sources.home, ".cargo");
  const text = sources.read(join(home, "config.toml")) ?? sources.read(join(home, "config")) ?? "";
  return parseSections(text).flatMap(withoutInlineTable);
}

/** `crates-io = { replace-with = "mirror" }` below `[source]` is the same as `[source.crates-io]` with a line. */
function withoutInlineTable(entry: SectionEntry): SectionEntry[] {
  const [, inner] = /^\{(.*)\}\s*(?:#.*)?$/.exec(entry.value) ?? [];
  if (inner === undefined) return [entry];
  const section = [...entry.section, entry.key];
  const pairs = inner.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/g);
  return [...pairs].map(([, key = "", double, single]) => ({ section, key, value: double ?? single ?? "" }));
}

/** A table over several lines, and dotted keys, are TOML that is not read here. */
function isStrange({ section, key, value }: SectionEntry): boolean {
  const [place, ...rest] = [...section, ...key.split(".")];
  const isOurs = place === "source" || place === "registries";
  return isOurs && (value.startsWith("{") || (key.includes(".") && rest.length > 1));
}

import { join } from "node:path";
import type { ClientConfiguration } from "./client.js";
import { readMirror } from "./mirror.js";
import { type ClientSources, configHome, variable } from "./sources.js";

const PROXY = "proxy.golang.org";
const CHECKSUMS = "sum.golang.org";
/** What is fetched past the proxy and past the checksums: patterns of modules. */
const PATTERNS = ["GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE"];

export function readGo(sources: ClientSources): ClientConfiguration {
  const settings = readSettings(sources);
  const setting = (name: string) => variable(sources, name) ?? settings.get(name);
  const [proxy, checksums] = [setting("GOPROXY"), setting("GOSUMDB")];
  const patterns = PATTERNS.map((name) => [name, readPatterns(setting(name))] as const);
  const urls = (proxy ?? "").split(/[,|]/).filter((each) => each.includes("://"));
  const [, ownChecksums] = (checksums ?? "").split(/\s+/);
  const checks = checksums === undefined || checksums === CHECKSUMS;
  return {
    urls: [...urls, ...(ownChecksums === undefined ? [] : [ownChecksums])],
    hasPrivateEntries:
      patterns.some(([, { isPrivate }]) => isPrivate) ||
      (checksums !== undefined && readChecksums(checksums) === undefined),
    hosts: [...(proxy === undefined ? [PROXY] : []), ...(checks ? [CHECKSUMS] : [])],
    environment: {
      ...(proxy !== undefined && { GOPROXY: withoutCredentials(proxy) }),
      ...(checksums !== undefined && {
        GOSUMDB: readChecksums(checksums),
      }),
      ...Object.fromEntries(patterns.map(([name, { clean }]) => [name, clean])),
    },
  };
}

/** A name or a key, and where the database is. */
function readChecksums(text: string): string | undefined {
  const [name = "", url] = text.trim().split(/\s+/);
  if (name.includes("@") || name.includes("://")) return undefined;
  const mirror = url === undefined ? undefined : readMirror(url)?.url;
  return mirror === undefined ? name : `${name} ${mirror}`;
}

/** A pattern with something before an `@` is no module's, and may be a password. */
function readPatterns(text: string | undefined): { clean: string | undefined; isPrivate: boolean } {
  const all = (text ?? "").split(",").map((each) => each.trim());
  const clean = all.filter((each) => each !== "" && !each.includes("@"));
  return { clean: clean.join(",") || undefined, isPrivate: (text ?? "").includes("@") };
}

/** The separators say when the next one is asked. A directory of this machine is not there. */
function withoutCredentials(proxy: string): string | undefined {
  const parts = proxy.split(/([,|])/).map((part) => {
    if (!part.includes("://")) return part.includes("@") ? "" : part.trim();
    return readMirror(part)?.url.replace(/\/$/, "") ?? "";
  });
  return (
    parts
      .join("")
      .replace(/^[,|]+|[,|]+$/g, "")
      .replace(/[,|]{2,}/g, ",") || undefined
  );
}

function readSettings(sources: ClientSources): ReadonlyMap<string, string> {
  const path = variable(sources, "GOENV") ?? join(configHome(sources), "go/env");
  const lines = path === "off" ? [] : (sources.read(path) ?? "").split(/\r?\n/);
  return new Map(
    lines.flatMap((line) => {
      const match = /^([A-Z_]\w*)=(.*)$/.exec(line);
      return match === null || match[2] === "" ? [] : [[match[1]!, match[2]!] as const];
    }),
  );
}

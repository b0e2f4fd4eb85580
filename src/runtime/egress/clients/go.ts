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
  const urls = (proxy ?? "").split(/[,|]/).filter((each) => each.includes("://"));
  const [, ownChecksums] = (checksums ?? "").split(/\s+/);
  const checks = checksums === undefined || checksums === CHECKSUMS;
  return {
    urls: [...urls, ...(ownChecksums === undefined ? [] : [ownChecksums])],
    hosts: [...(proxy === undefined ? [PROXY] : []), ...(checks ? [CHECKSUMS] : [])],
    environment: {
      ...(proxy !== undefined && { GOPROXY: withoutCredentials(proxy) }),
      ...(checksums !== undefined && {
        GOSUMDB: checksums.replace(/https?:\/\/\S+/, (url) => readMirror(url)?.url ?? ""),
      }),
      ...Object.fromEntries(PATTERNS.map((name) => [name, setting(name)])),
    },
  };
}

/** The separators say when the next one is asked. A directory of this machine is not there. */
function withoutCredentials(proxy: string): string | undefined {
  const parts = proxy.split(/([,|])/).map((part) => {
    if (!part.includes("://")) return part.trim();
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

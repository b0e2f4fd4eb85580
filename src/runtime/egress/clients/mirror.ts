import { HOST_SERVICES } from "../../../kit/hosts.js";
import { isPrivateAddress, isSpecialAddress } from "../rules/addresses.js";
import { hostText, parseHost } from "../rules/host.js";

/** Where a client of this machine gets its packages, as one inside a sandbox may know it. */
export interface Mirror {
  readonly host: string;
  readonly port: number;
  /** Without user name, password, query and fragment. */
  readonly url: string;
  /** There was something of these, which stays outside. */
  readonly hadCredentials: boolean;
}

/**
 * Reads a URL of a configuration. Undefined: no HTTP, or a host that no sandbox may reach. This host's loopback is another one
 * inside, so its services have a name there.
 */
export function readMirror(text: string): Mirror | undefined {
  const [, prefix = "", rest = ""] = /^((?:sparse|registry|git)\+)?(.*)$/s.exec(text.trim()) ?? [];
  if (!/^https?:\/\//i.test(rest) || !URL.canParse(rest)) return undefined;
  const url = new URL(rest);
  const hadCredentials = [url.username, url.password, url.search, url.hash].some((part) => part !== "");
  url.username = url.password = url.search = url.hash = "";
  const port = url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port);
  const host = parseHost(url.hostname);
  if (host === undefined || port === 0) return undefined;
  if (isLoopback(hostText(host))) {
    url.hostname = HOST_SERVICES;
    return { host: HOST_SERVICES, port, url: prefix + url.href, hadCredentials };
  }
  if (host.kind === "address" && isUnreachable(host.address)) return undefined;
  return { host: hostText(host), port, url: prefix + url.href, hadCredentials };
}

/** Has a text user information that may be a password or a token? The user of `git@host:` and `ssh://git@host` is none. */
export function hasCredentials(text: string): boolean {
  return text.includes("@") && !/^(?:(?:git\+)?ssh:\/\/)?[\w.-]+@[^@]*$/i.test(text);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || isSpecialAddress(host) === "loopback";
}

/** A configuration that names a cloud's metadata by mistake opens nothing. */
function isUnreachable(address: string): boolean {
  return isSpecialAddress(address) !== undefined && !isPrivateAddress(address);
}

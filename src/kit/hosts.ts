import { isIP } from "node:net";

const LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
const DOMAIN = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`, "i");
const MAX_DOMAIN = 253;

/** Public registries under a country's two letters: `co.uk`, `com.au`, `or.jp`. */
const SECOND_LEVEL = new Set(
  "ac co com edu gob gouv gov go gv id in info ltd me mil ne net nom or org plc sch web".split(" "),
);
/** Hosting services that give every customer a name. */
const SHARED = new Set([
  "appspot.com",
  "azurewebsites.net",
  "blob.core.windows.net",
  "cloudfront.net",
  "deno.dev",
  "firebaseapp.com",
  "fly.dev",
  "github.io",
  "gitlab.io",
  "glitch.me",
  "herokuapp.com",
  "netlify.app",
  "ngrok.app",
  "ngrok.io",
  "ngrok-free.app",
  "onrender.com",
  "pages.dev",
  "repl.co",
  "run.app",
  "s3.amazonaws.com",
  "trycloudflare.com",
  "vercel.app",
  "web.app",
  "workers.dev",
]);

/** The name under which programs inside find services of the host's own loopback, where a rule names it with its port. */
export const HOST_SERVICES = "host.skerry.internal";

const AT_HOST = new RegExp(`^${HOST_SERVICES.replaceAll(".", "\\.")}:([1-9]\\d{0,4})$`, "i");

/** The port of `host.skerry.internal:8080`. Undefined: it names no service of the host. */
export function hostServicePort(text: string): number | undefined {
  const port = Number(AT_HOST.exec(text)?.[1] ?? 0);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Why a rule cannot mean this host by `localhost` or `127.0.0.1`, and what means it. Undefined: it names neither. */
export function loopbackComplaint(host: string): string | undefined {
  if (!/^(?:(?:.*\.)?localhost\.?|127\.0\.0\.1|::1|\[::1\])(?::\d+)?$/i.test(host)) return undefined;
  const port = /[^:]:(\d+)$/.exec(host)?.[1] ?? "PORT";
  return `inside, this is the sandbox itself; for a service of this host write "${HOST_SERVICES}:${port}"`;
}

/** What is wrong with a host that a rule allows: a name, `*.name` for all names below it, or `host.skerry.internal:PORT`. */
export function allowedDomainComplaint(name: string): string | undefined {
  if (hostServicePort(name) !== undefined) return undefined;
  return hostServicesComplaint(name) ?? allowedNameComplaint(name);
}

/** Why a rule cannot mean this host, or a service of it, by this name. Undefined: it means another host. */
export function hostServicesComplaint(name: string): string | undefined {
  if (new RegExp(`^${HOST_SERVICES}\\.?(?::.*)?$`, "i").test(name))
    return `this name is for one port of this host at a time: "${HOST_SERVICES}:8080"`;
  return loopbackComplaint(name);
}

/** The same without a port. */
export function allowedNameComplaint(name: string): string | undefined {
  if (isIP(name) !== 0 || /(?:^|\.)\d+$/.test(name))
    return "this is an address; addresses are allowed by allowedIps";
  return domainComplaint(name) ?? tooWideComplaint(name);
}

/** What is wrong with a name, or `*.name`. */
export function domainComplaint(name: string): string | undefined {
  // `*` and `*.*.com` are told by what they would allow.
  if (/^[*.]*$/.test(name) && name.includes("*")) return tooWideComplaint(name);
  if (name.length <= MAX_DOMAIN && DOMAIN.test(name)) return undefined;
  return 'expected a domain such as "example.com" or "*.example.com", without scheme, port or path';
}

/** Why a pattern is too wide: the part after `*` has to be a name with one owner. Undefined: it is not. */
export function tooWideComplaint(pattern: string): string | undefined {
  const labels = pattern.toLowerCase().split(".");
  const last = labels.findLastIndex((label) => label.includes("*"));
  if (last === -1 || /^\d[\d.]*\.\*$/.test(pattern)) return undefined;
  const fixed = labels.slice(last + 1);
  const suffix = fixed.join(".");
  if (fixed.length === 0)
    return pattern === "*"
      ? "this would allow every host"
      : "anyone can register a name that begins like this";
  if (fixed.length === 1)
    return `a wildcard for a whole top-level domain is too wide: anyone can register a name under ${suffix}`;
  const isCountry = fixed.length === 2 && fixed[1]!.length === 2 && SECOND_LEVEL.has(fixed[0]!);
  if (isCountry || SHARED.has(suffix))
    return `this wildcard is too wide: anyone can register a name under ${suffix}`;
  return undefined;
}

/** Does `*.example.com` or `example.com` stand for all that the other one does? */
export function coversDomain(wide: string, narrow: string): boolean {
  const [outer, inner] = [wide.toLowerCase(), narrow.toLowerCase()];
  return outer === inner || (outer.startsWith("*.") && inner.endsWith(outer.slice(1)));
}

/** What is wrong with an address, or a range in CIDR notation. */
export function rangeComplaint(text: string): string | undefined {
  return rangeOf(text) !== undefined
    ? undefined
    : `expected an address or a range such as "192.0.2.0/24", not ${JSON.stringify(text).slice(0, 60)}`;
}

/** The same for one that a rule allows. */
export function allowedRangeComplaint(text: string): string | undefined {
  const range = rangeOf(text);
  if (range === undefined) return rangeComplaint(text);
  const least = range.family === 4 ? 8 : 7;
  return range.length >= least ? undefined : `this range is too wide: at least /${least} is expected`;
}

function rangeOf(text: string): { family: number; length: number } | undefined {
  const [address = "", bits, ...rest] = text.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 0 || rest.length > 0) return undefined;
  const most = family === 4 ? 32 : 128;
  if (bits === undefined) return { family, length: most };
  return /^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= most
    ? { family, length: Number(bits) }
    : undefined;
}

import type { Match } from "./findings.js";

/** Texts that say by themselves what they are for, once they are handed to the network or to a command. */
interface TextRule extends Match {
  readonly test: RegExp;
}

/** Expressions are linear. */
const TEXT_RULES: readonly TextRule[] = [
  {
    rule: "cloud-metadata",
    level: "high",
    test: /metadata\.(?:google\.internal|goog|azure|tencentyun\.com|platformequinix\.com|packet\.net)|instance-data\.ec2|rancher-metadata|fd00:ec2::254|::ffff:(?:0:)?(?:a9fe:a9fe|a9fe:aa02|6464:64c8)|169\.254\.(?:169\.254|170\.2)|\/computeMetadata\/v1|\/latest\/(?:meta-data|user-data|api\/token|dynamic\/instance-identity)|\/metadata\/(?:identity\/oauth2|instance\?)|\/opc\/v[12]\/instance/i,
    why: "The cloud's metadata service hands out credentials of the machine.",
  },
  {
    rule: "crypto-miner",
    level: "high",
    test: /stratum\+(?:tcp|ssl|tls)|\bxmrig\b|\bminexmr\b|\bminerd\b|\bcpuminer\b|cryptonight|randomx|nicehash\.com|supportxmr|nanopool|2miners|\bethminer\b|\bmining\.(?:subscribe|authorize|submit)\b|"method":"login".{0,120}"(?:login|pass)":/i,
    why: "Mines a cryptocurrency.",
  },
  {
    rule: "container-escape",
    level: "critical",
    test: /(?:docker|containerd|podman|crio)\.sock\b|:237[56](?:\/|$)/,
    why: "Access to the container daemon is root on the host.",
  },
  {
    rule: "service-destruction",
    level: "high",
    test: /\bDROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?(?![`"[]?\w{0,64}(?:test|tmp|temp))|\b(?:DROP|TRUNCATE)\s+TABLE\s+(?:IF\s+EXISTS\s+)?["'`[]{0,2}(?:\ue000|\$)|\bdropDatabase\s*\(|^FLUSHALL$|:9200\/(?:_all|\*)/i,
    why: "Destroys everything that a service holds.",
  },
  { rule: "hidden-service", level: "high", test: /\.onion\b/, why: "Talks to a hidden service." },
  {
    rule: "out-of-band",
    level: "high",
    test: /\b(?:burpcollaborator\.net|oastify\.com|interact\.sh|oast\.\w+|webhook\.site|requestbin\.\w+|pipedream\.net|dnslog\.cn|ceye\.io)\b/i,
    why: "A service that collects what a victim sends.",
  },
];

const MAX_LOOKED_AT = 16_384;

/** Every rule that a text matches. */
export function assessText(text: string): Match[] {
  const start = text.slice(0, MAX_LOOKED_AT);
  const found: Match[] = TEXT_RULES.filter(({ test }) => test.test(start));
  if (!found.includes(METADATA) && addressesIn(start).some((address) => METADATA_ADDRESSES.has(address)))
    found.push(METADATA);
  return found;
}

const METADATA = TEXT_RULES.find(({ rule }) => rule === "cloud-metadata")!;
/** 169.254.169.254, 169.254.170.2 and .23, 100.100.100.200, 192.0.0.192, 168.63.129.16, 169.254.0.23 */
const METADATA_ADDRESSES: ReadonlySet<number> = new Set([
  0xa9fea9fe, 0xa9feaa02, 0xa9feaa17, 0x646464c8, 0xc00000c0, 0xa83f8110, 0xa9fe0017,
]);

/** The addresses in a text, in any spelling that a C library takes: parts in octal or hex, fewer than four of them. */
function addressesIn(text: string): number[] {
  const spelt = text.matchAll(
    /(?:^|[/@[\s"':=])((?:0x[0-9a-f]{1,8}|\d{1,12})(?:\.(?:0x[0-9a-f]{1,8}|\d{1,12})){0,3})\.?(?![\w.-])/gi,
  );
  return [...spelt].map(([, address]) => {
    const parts = address!
      .split(".")
      .map((part) => (/^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part)));
    const last = parts.pop()!;
    return parts.reduce((sum, part, index) => sum + part * 256 ** (3 - index), last);
  });
}

/** Variables whose value another program loads or runs. */
export function isLoaderVariable(name: string): boolean {
  return /^(?:LD_(?:PRELOAD|AUDIT|LIBRARY_PATH)|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|PYTHONSTARTUP|NODE_OPTIONS|PERL5OPT|GIT_SSH_COMMAND)$/.test(
    name,
  );
}

export const LOADER_VARIABLE: Match = {
  rule: "loader-variable",
  level: "high",
  why: "Makes other programs load code.",
};

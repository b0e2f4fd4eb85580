import type { Match } from "./findings.js";

/** Texts that say by themselves what they are for, once they are handed to the network or to a command. */
export interface TextRule extends Match {
  readonly test: RegExp;
}

/** Expressions are linear. */
export const TEXT_RULES: readonly TextRule[] = [
  {
    rule: "cloud-metadata",
    level: "high",
    test: /169\.254\.(?:169\.254|170\.2)|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254|\b0xa9fea9fe\b|\b2852039166\b|metadata\.azure|::ffff:(?:169\.254\.169\.254|a9fe:a9fe)/i,
    why: "The cloud's metadata service hands out credentials of the machine.",
  },
  {
    rule: "crypto-miner",
    level: "high",
    test: /stratum\+(?:tcp|ssl|tls)|\bxmrig\b|\bminexmr\b|\bminerd\b|\bcpuminer\b|cryptonight|randomx|nicehash\.com|supportxmr|nanopool|2miners|\bethminer\b/i,
    why: "Mines a cryptocurrency.",
  },
  {
    rule: "container-escape",
    level: "critical",
    test: /(?:docker|containerd|podman|crio)\.sock\b/,
    why: "Access to the container daemon is root on the host.",
  },
  {
    rule: "hidden-service",
    level: "high",
    test: /\.onion\b/,
    why: "Talks to a hidden service.",
  },
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
  return TEXT_RULES.filter(({ test }) => test.test(start));
}

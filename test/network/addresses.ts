/** The addresses of the test network's hosts. They are public ones, so no rule has to name them. */
export const PUBLIC = "5.5.5.5";
export const PUBLIC_V6 = "2a00:5555::5";
/** A public host that no rule allows. */
export const EVIL = "5.5.5.6";
export const METADATA = "169.254.169.254";
export const PRIVATE = "10.5.5.5";
export const RESOLVER = "127.0.0.53";

/** Routed to the test network's servers, which listen on every address, loopback included. */
export const ADDRESSES = [PUBLIC, EVIL, METADATA, PRIVATE];

/** An answer of the name server: addresses, or one list for each time it is asked. */
export type Answers = readonly string[] | { readonly inTurn: readonly (readonly string[])[] };

/** What names resolve to. Every other name below skerry.test is at PUBLIC, below evil.test at EVIL. */
const NAMES: Readonly<Record<string, Answers>> = {
  "evil.skerry.test": [EVIL],
  "mirror.skerry.test": [PRIVATE],
  "v6.dns.skerry.test": [PUBLIC_V6],
  "loopback.dns.skerry.test": ["127.0.0.1"],
  "loopback9.dns.skerry.test": ["127.0.0.9"],
  "nowhere.dns.skerry.test": ["0.0.0.0"],
  "loopback6.dns.skerry.test": ["::1"],
  "mapped.dns.skerry.test": ["::ffff:127.0.0.1"],
  "translated.dns.skerry.test": ["64:ff9b::7f00:1"],
  "metadata.dns.skerry.test": [METADATA],
  "mapped-metadata.dns.skerry.test": ["::ffff:169.254.169.254"],
  "private.dns.skerry.test": [PRIVATE],
  "all-bad.dns.skerry.test": ["127.0.0.1", METADATA, PRIVATE],
  "mixed.dns.skerry.test": [METADATA, "127.0.0.1", PUBLIC, PRIVATE],
  "turns.dns.skerry.test": { inTurn: [[PUBLIC], ["127.0.0.1"]] },
  "turns-back.dns.skerry.test": { inTurn: [["127.0.0.1"], [PUBLIC]] },
};

export function answersTo(name: string): Answers | undefined {
  const found = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (found !== undefined) return found;
  if (name.endsWith(".skerry.test")) return [PUBLIC];
  return name === "evil.test" || name.endsWith(".evil.test") ? [EVIL] : undefined;
}

import { isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/** An address as a number. Those of IPv4 that are written in IPv6 (`::ffff:127.0.0.1`) are of IPv4. */
interface Parsed {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

interface Range extends Parsed {
  readonly length: number;
}

interface SpecialRange extends Range {
  readonly why: string;
}

/** The one spelling of an address, or undefined for what is none. An address with a zone is none. */
export function canonicalAddress(text: string): string | undefined {
  const parsed = parse(text);
  return parsed && format(parsed);
}

/** Is the address in the range, whichever way either is spelled? */
export function inRange(address: string, cidr: string): boolean {
  const [parsed, range] = [parse(address), parseRange(cidr)];
  return parsed !== undefined && range !== undefined && contains(range, parsed);
}

/**
 * Is the address, or the address of IPv4 that is within it, in the range? What translates between the two (NAT64, 6to4,
 * Teredo) would otherwise lead around a rule.
 */
export function leadsInto(address: string, cidr: string): boolean {
  const range = parseRange(cidr);
  return range !== undefined && formsOf(address).some((form) => contains(range, form));
}

/**
 * Why an address is none of the public Internet: it leads to this machine, to its network, to a cloud's metadata, or
 * nowhere. Undefined: it is an ordinary one. What is no address is special.
 */
export function isSpecialAddress(address: string): string | undefined {
  const forms = formsOf(address);
  if (forms.length === 0) return "not an address";
  for (const form of forms) {
    const special = specialRange(form);
    if (special !== undefined) return special.why;
  }
  return undefined;
}

/** Of a network that is not public, and nothing else: no loopback, no link-local address, no cloud's metadata. */
export function isPrivateAddress(address: string): boolean {
  const reasons = formsOf(address).map((form) => specialRange(form)?.why);
  return reasons.length > 0 && reasons.every((why) => why !== undefined && PRIVATE.includes(why));
}

const PRIVATE: readonly string[] = ["private", "shared address space"];

/**
 * Does a rule name the address on purpose? A range as wide as `0.0.0.0/0` names public addresses only: what is special is
 * named by a range within the special one. `169.254.0.0/16` does not name the metadata address.
 */
export function isNamedBy(address: string, cidrs: readonly string[]): boolean {
  const ranges = cidrs.map(parseRange).filter((range) => range !== undefined);
  const [own, ...embedded] = formsOf(address);
  if (own === undefined || !names(own)) return false;
  return embedded.every((form) => specialRange(form) === undefined || names(form));

  function names(form: Parsed): boolean {
    const special = specialRange(form);
    return ranges.some((range) => contains(range, form) && (special === undefined || within(range, special)));
  }
}

function specialRange(address: Parsed): SpecialRange | undefined {
  return SPECIAL().find((range) => contains(range, address));
}

function contains(range: Range, { bits, value }: Parsed): boolean {
  return (
    bits === range.bits && value >> BigInt(bits - range.length) === range.value >> BigInt(bits - range.length)
  );
}

function within(inner: Range, outer: Range): boolean {
  return inner.length >= outer.length && contains(outer, inner);
}

/** The address itself, and the one of IPv4 that a gateway would make of it. */
function formsOf(address: string): Parsed[] {
  const own = parse(address);
  if (own === undefined) return [];
  if (own.bits === 32 || own.value <= LOOPBACK) return [own];
  const embedding = EMBEDDING().find(({ range }) => contains(range, own));
  const isIsatap = ((own.value >> 32n) & 0xfdff_ffffn) === 0x5efen;
  if (embedding === undefined && !isIsatap) return [own];
  const shifted = own.value >> BigInt(embedding?.shift ?? 0);
  const value = (embedding?.inverted === true ? ~shifted : shifted) & 0xffff_ffffn;
  return [own, { bits: 32, value }];
}

function parseRange(text: string): Range | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const parsed = parse(address);
  if (parsed === undefined || rest.length > 0) return undefined;
  if (length === undefined) return { ...parsed, length: parsed.bits };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const written = Number(length) - (parsed.bits === 32 && address.includes(":") ? 96 : 0);
  return written < 0 || written > parsed.bits ? undefined : { ...parsed, length: written };
}

function parse(text: string): Parsed | undefined {
  if (isIPv4(text)) return { bits: 32, value: valueOfIPv4(text) };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const value = valueOfIPv6(text);
  return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value };
}

function valueOfIPv4(text: string): bigint {
  return text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function valueOfIPv6(text: string): bigint {
  const dotted = text.slice(text.lastIndexOf(":") + 1);
  const tail = dotted.includes(".") ? valueOfIPv4(dotted) : undefined;
  const groups =
    tail === undefined
      ? text
      : `${text.slice(0, -dotted.length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [left = [], right = []] = groups
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function format({ bits, value }: Parsed): string {
  const part = (index: number, size: number) =>
    (value >> BigInt(bits - size * (index + 1))) & ((1n << BigInt(size)) - 1n);
  if (bits === 32) return [0, 1, 2, 3].map((index) => part(index, 8)).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => part(index, 16).toString(16)).join(":");
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}

function rangeOf(cidr: string): Range {
  const range = parseRange(cidr);
  if (range === undefined) throw new TypeError(`${cidr} is no range`);
  return range;
}

/** `::1`. It and `::` are in the range of addresses that carry one of IPv4, and carry none. */
const LOOPBACK = 1n;

/** Where addresses of IPv6 carry one of IPv4: by how many bits from the right, and whether its bits are flipped. */
const EMBEDDING = once((): readonly { range: Range; shift: number; inverted?: true }[] => [
  { range: rangeOf("::/96"), shift: 0 },
  { range: rangeOf("::ffff:0:0:0/96"), shift: 0 },
  { range: rangeOf("64:ff9b::/96"), shift: 0 },
  { range: rangeOf("64:ff9b:1::/48"), shift: 0 },
  { range: rangeOf("2002::/16"), shift: 80 },
  { range: rangeOf("2001::/32"), shift: 0, inverted: true },
]);

/** The special-purpose registries of IANA, and the addresses at which clouds hand out credentials. The narrow come first. */
const SPECIAL = once((): readonly SpecialRange[] =>
  Object.entries({
    metadata: [
      "169.254.169.254/32",
      "169.254.169.253/32",
      "169.254.169.123/32",
      "169.254.170.2/32",
      "169.254.170.23/32",
      "169.254.0.23/32",
      "100.100.100.200/32",
      "168.63.129.16/32",
      "192.0.0.192/32",
      "fd00:ec2::/32",
      "fd20:ce::254/128",
      "fd00:42::42/128",
      "fe80::a9fe:a9fe/128",
    ],
    "this network": ["0.0.0.0/8"],
    unspecified: ["::/128"],
    loopback: ["127.0.0.0/8", "::1/128"],
    private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"],
    "shared address space": ["100.64.0.0/10"],
    "link-local": ["169.254.0.0/16", "fe80::/10"],
    documentation: ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"],
    benchmarking: ["198.18.0.0/15", "2001:2::/48"],
    multicast: ["224.0.0.0/4", "ff00::/8"],
    broadcast: ["255.255.255.255/32"],
    reserved: [
      "192.0.0.0/24",
      "192.31.196.0/24",
      "192.52.193.0/24",
      "192.88.99.0/24",
      "192.175.48.0/24",
      "240.0.0.0/4",
      "100::/64",
      "100:0:0:1::/64",
      "2620:4f:8000::/48",
      "5f00::/16",
    ],
    "IPv4-compatible": ["::/96"],
    "IPv4-translated": ["::ffff:0:0:0/96"],
    "local NAT64": ["64:ff9b:1::/48"],
    Teredo: ["2001::/32"],
    "protocol assignments": ["2001::/23"],
    "6to4": ["2002::/16"],
  }).flatMap(([why, cidrs]) => cidrs.map((cidr) => ({ ...rangeOf(cidr), why }))),
);

/** Worked out with the first connection: most commands make none, and to parse addresses takes a while. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Addresses come and go with interfaces; to ask the kernel for every connection would cost more than the rest. */
const KEPT_MS = 5000;

let known: ReadonlySet<string> = new Set();
let knownUntil = 0;

/** Does the address lead back to this machine? Its public ones do as much as loopback does. */
export function isOwnAddress(address: string): boolean {
  if (performance.now() >= knownUntil) {
    const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    known = new Set(all.map((each) => canonicalAddress(each.address) ?? each.address));
    knownUntil = performance.now() + KEPT_MS;
  }
  return known.has(canonicalAddress(address) ?? address);
}

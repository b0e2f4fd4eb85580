import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalAddress, inRange, isNamedBy, isSpecialAddress, leadsInto } from "./addresses.js";

describe("isSpecialAddress", () => {
  it.each([
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["0.0.0.0", "this network"],
    ["::", "unspecified"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["fc00::1", "private"],
    ["fdff::1", "private"],
    ["fec0::1", "private"],
    ["100.64.0.1", "shared address space"],
    ["169.254.0.1", "link-local"],
    ["fe80::1", "link-local"],
    ["febf::1", "link-local"],
    ["169.254.169.254", "metadata"],
    ["::ffff:a9fe:a9fe", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["fd20:ce::254", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["192.0.0.192", "metadata"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["ff02::1", "multicast"],
    ["255.255.255.255", "broadcast"],
    ["240.0.0.1", "reserved"],
    ["192.0.0.8", "reserved"],
    ["192.88.99.1", "reserved"],
    ["100::1", "reserved"],
    ["5f00::1", "reserved"],
    ["192.0.2.1", "documentation"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["198.19.255.255", "benchmarking"],
    ["::7f00:1", "IPv4-compatible"],
    ["::8.8.8.8", "IPv4-compatible"],
    ["::ffff:0:127.0.0.1", "IPv4-translated"],
    ["64:ff9b::127.0.0.1", "loopback"],
    ["64:ff9b::a9fe:a9fe", "metadata"],
    ["64:ff9b:1::8.8.8.8", "local NAT64"],
    ["2002:7f00:1::", "6to4"],
    ["2001::1", "Teredo"],
    ["2001:20::1", "protocol assignments"],
    ["2600::5efe:7f00:1", "loopback"],
    ["2600::200:5efe:a00:1", "private"],
    ["example.com", "not an address"],
    ["fe80::1%eth0", "not an address"],
    ["", "not an address"],
  ])("%s: %s", (address, why) => {
    expect(isSpecialAddress(address)).toBe(why);
  });

  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "223.255.255.255",
    "100.63.255.255",
    "100.128.0.0",
    "2600::1",
    "2606:4700:4700::1111",
    "64:ff9b::8.8.8.8",
    "::ffff:8.8.8.8",
  ])("%s is an ordinary one", (address) => {
    expect(isSpecialAddress(address)).toBeUndefined();
  });

  it("is the same for every way to carry the address", () => {
    const special = fc.ipV4().filter((address) => isSpecialAddress(address) !== undefined);
    fc.assert(
      fc.property(special, (address) => {
        const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const flipped = `${((a << 8) | (b ^ 0xffff)).toString(16)}:${(((c << 8) | d) ^ 0xffff).toString(16)}`;
        for (const carried of [
          `::ffff:${hex}`,
          `::ffff:${address}`,
          `::ffff:0:${hex}`,
          `64:ff9b::${hex}`,
          `64:ff9b:1::${hex}`,
          `2002:${hex}::1`,
          `2001:0:1:2:3:4:${flipped}`,
          `2600::5efe:${hex}`,
        ]) {
          expect(isSpecialAddress(carried)).toBeDefined();
          expect(isNamedBy(carried, ["0.0.0.0/0", "::/0"])).toBe(false);
        }
      }),
    );
  });
});

describe("inRange", () => {
  it("agrees with Node's own lists", () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(address, address, fc.nat(128), (one, other, bits) => {
        const family = canonicalAddress(one)!;
        const length = Math.min(bits, isIPv4(family) ? 32 : 128);
        const list = new BlockList();
        list.addSubnet(family, length, isIPv4(family) ? "ipv4" : "ipv6");
        const check = (each: string) => list.check(each, isIPv4(each) ? "ipv4" : "ipv6");
        const canonical = canonicalAddress(other)!;
        expect(inRange(one, `${family}/${length}`)).toBe(true);
        expect(inRange(other, `${family}/${length}`)).toBe(
          isIPv4(canonical) === isIPv4(family) && check(canonical),
        );
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["10.1.2.3", "10.0.0.0/8", true],
    ["11.1.2.3", "10.0.0.0/8", false],
    ["10.1.2.3", "10.1.2.3", true],
    ["::ffff:10.1.2.3", "10.0.0.0/8", true],
    ["10.1.2.3", "::ffff:10.0.0.0/104", true],
    ["10.1.2.3", "::/0", false],
    ["fd00::1", "fc00::/7", true],
    ["nothing", "0.0.0.0/0", false],
  ])("%s in %s: %s", (address, range, expected) => {
    expect(inRange(address, range)).toBe(expected);
  });

  it.each([
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0/8",
    "::ffff:10.0.0.0/8",
    "fe80::1%a/64",
    "",
  ])("%j is no range", (text) => {
    expect(inRange("10.0.0.1", text)).toBe(false);
  });
});

it("a rule is not led around by an address that carries another", () => {
  expect(leadsInto("64:ff9b::203.0.113.5", "203.0.113.0/24")).toBe(true);
  expect(leadsInto("2002:cb00:7105::", "203.0.113.0/24")).toBe(true);
  expect(leadsInto("2600::1", "203.0.113.0/24")).toBe(false);
});

describe("a special address is named on purpose", () => {
  it.each<[string, string[], boolean]>([
    ["127.0.0.1", ["127.0.0.1"], true],
    ["127.0.0.1", ["127.0.0.0/8"], true],
    ["127.0.0.1", ["126.0.0.0/7"], false],
    ["127.0.0.1", ["0.0.0.0/0"], false],
    ["::1", ["::1"], true],
    ["10.1.2.3", ["10.1.0.0/16"], true],
    ["169.254.169.254", ["169.254.0.0/16"], false],
    ["169.254.169.254", ["169.254.169.254"], true],
    ["100.100.100.200", ["100.64.0.0/10"], false],
    ["64:ff9b::7f00:1", ["64:ff9b::/96"], false],
    ["64:ff9b::7f00:1", ["64:ff9b::/96", "127.0.0.0/8"], true],
    ["8.8.8.8", ["8.0.0.0/8"], true],
    ["8.8.8.8", [], false],
  ])("%s by %j: %s", (address, ranges, expected) => {
    expect(isNamedBy(address, ranges)).toBe(expected);
  });
});

import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAuthority, hostText, parseAuthority, parseHost } from "./host.js";

const textOf = (raw: string) => {
  const host = parseHost(raw);
  return host === undefined ? undefined : `${host.kind} ${hostText(host)}`;
};

describe("parseHost", () => {
  it.each([
    ["example.com", "name example.com"],
    ["EXAMPLE.Com.", "name example.com"],
    ["bücher.example", "name xn--bcher-kva.example"],
    ["XN--BCHER-KVA.example", "name xn--bcher-kva.example"],
    ["a。b．example", "name a.b.example"],
    ["_dmarc.a-b.example", "name _dmarc.a-b.example"],
    ["localhost", "name localhost"],
    ["1.example", "name 1.example"],
    ["127.0.0.1", "address 127.0.0.1"],
    ["127.1", "address 127.0.0.1"],
    ["127.0.1", "address 127.0.0.1"],
    ["0x7f000001", "address 127.0.0.1"],
    ["0X7F.1", "address 127.0.0.1"],
    ["017700000001", "address 127.0.0.1"],
    ["0177.0.0.01", "address 127.0.0.1"],
    ["2130706433", "address 127.0.0.1"],
    ["127.0.0.1.", "address 127.0.0.1"],
    ["１２７.0.0.1", "address 127.0.0.1"],
    ["①②⑦.0.0.1", "address 127.0.0.1"],
    ["0", "address 0.0.0.0"],
    ["::1", "address ::1"],
    ["[::1]", "address ::1"],
    ["[0:0:0:0:0:0:0:1]", "address ::1"],
    ["[::FFFF:127.0.0.1]", "address 127.0.0.1"],
    ["[::ffff:7f00:1]", "address 127.0.0.1"],
    ["2001:DB8:0:0:1::1", "address 2001:db8::1:0:0:1"],
  ])("%j is %s", (raw, expected) => {
    expect(textOf(raw)).toBe(expected);
  });

  it.each([
    "",
    ".",
    "..",
    "a..b",
    ".a",
    "a..",
    "a b",
    "a\0b",
    "a\tb",
    "a\nb",
    "a\r\nHost: b",
    "a\u00a0b",
    "user@example.com",
    "example.com/x",
    "example.com\\x",
    "example.com?x",
    "example.com#x",
    "a%2eb",
    "%31%32%37.0.0.1",
    "a:80",
    "*.example.com",
    "example.com,evil.example",
    "[127.0.0.1]",
    "[::1",
    "::1]",
    "[[::1]]",
    "[fe80::1%eth0]",
    "fe80::1%1",
    "1.2.3.4.5",
    "256.1.1.1",
    "1.2.3.256",
    "08.0.0.1",
    "0x100000000",
    "foo.1",
    "foo.0x",
    "foo.0x1f",
    "xn--a",
    "xn--",
    "\ud800.example",
    "a\u202eb.\u202e",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(127)}a`,
    "a".repeat(5000),
  ])("%j is refused", (raw) => {
    expect(parseHost(raw)).toBeUndefined();
  });

  it("takes every spelling of an address for that address", () => {
    const number = (value: number) =>
      fc.constantFrom(
        String(value),
        `0x${value.toString(16)}`,
        `0X${value.toString(16).toUpperCase()}`,
        `0${value.toString(8)}`,
      );
    const spelled = fc.tuple(fc.nat(0xffff_ffff), fc.integer({ min: 1, max: 4 })).chain(([value, parts]) => {
      const head = [24, 16, 8].slice(0, parts - 1).map((shift) => (value >>> shift) & 0xff);
      const tail = parts === 1 ? value : value & (2 ** (8 * (5 - parts)) - 1);
      const text = fc.tuple(
        ...[...head, parts === 1 ? value : tail >>> 0].map(number),
        fc.constantFrom("", "."),
      );
      return text.map((all) => ({ value, raw: all.slice(0, -1).join(".") + all.at(-1) }));
    });
    fc.assert(
      fc.property(spelled, ({ value, raw }) => {
        const address = [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join(".");
        expect(textOf(raw)).toBe(`address ${address}`);
        expect(textOf(`::ffff:${address}`)).toBe(`address ${address}`);
      }),
    );
  });

  it("takes every spelling of an IPv6 address for that address", () => {
    const group = fc.oneof(fc.constant(0), fc.nat(0xffff));
    const groups = (length: number) => fc.array(group, { minLength: length, maxLength: length });
    const written = fc
      .nat(6)
      .chain((left) =>
        fc.nat(6 - left).chain((right) => fc.tuple(groups(left), groups(right), fc.boolean())),
      );
    fc.assert(
      fc.property(written, ([left, right, upper]) => {
        const hex = (list: readonly number[]) => list.map((each) => each.toString(16)).join(":");
        const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
        const long = all.map((each) => each.toString(16).padStart(4, "0")).join(":");
        const host = parseHost(hex(all));
        expect(host?.kind).toBe("address");
        for (const spelled of [long, `[${long}]`, `${hex(left)}::${hex(right)}`]) {
          expect(parseHost(upper ? spelled.toUpperCase() : spelled)).toEqual(host);
        }
      }),
    );
  });

  it("has one spelling: what it makes of a text it makes of itself", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.domain(), fc.ipV4Extended(), fc.ipV6(), fc.string({ unit: "binary" }), fc.webAuthority()),
        (raw) => {
          const host = parseHost(raw);
          if (host === undefined) return;
          expect(parseHost(hostText(host))).toEqual(host);
          expect(isIP(hostText(host)) !== 0).toBe(host.kind === "address");
          expect(hostText(host)).toMatch(/^[a-z0-9._:-]+$/);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("reads what a URL reads, or nothing", () => {
    const character = fc.constantFrom(..."abx019.-_%:@/\\ []０。ß\u00ad\0\t");
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 12 }), (raw) => {
        const host = parseHost(raw);
        if (host === undefined || raw.includes(":")) return;
        expect(new URL(`http://${raw}/`).hostname.replace(/\.$/, "")).toBe(hostText(host));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("parseAuthority", () => {
  it.each([
    ["example.com:8080", "example.com:8080"],
    ["example.com", "example.com:80"],
    ["[::1]:443", "[::1]:443"],
    ["[::1]", "[::1]:80"],
    ["127.1:1", "127.0.0.1:1"],
    ["a:65535", "a:65535"],
  ])("%j is %s", (raw, expected) => {
    expect(formatAuthority(parseAuthority(raw, 80)!)).toBe(expected);
  });

  it.each([
    "",
    ":80",
    "a:",
    "a:0",
    "a:00080",
    "a:080",
    "a:+80",
    "a:-1",
    "a: 80",
    "a:80 ",
    "a:8e1",
    "a:0x50",
    "a:８０",
    "a:65536",
    "a:99999999999",
    "a:80:80",
    "::1:80",
    "user@a:80",
    "user:pass@a:80",
    "a@b",
    "a:80/x",
    "a:80\r\n",
    "[::1]80",
    "[::1]:",
    "[::1]x:80",
    "x[::1]:80",
    "http://a",
  ])("%j is refused", (raw) => {
    expect(parseAuthority(raw, 80)).toBeUndefined();
  });

  it("has no port of its own", () => {
    expect(parseAuthority("example.com")).toBeUndefined();
  });

  it("is read as it was written", () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((each) => `[${each}]`),
    );
    fc.assert(
      fc.property(host, fc.integer({ min: 1, max: 65_535 }), (name, port) => {
        const authority = parseAuthority(`${name}:${port}`)!;
        expect(authority.port).toBe(port);
        expect(parseAuthority(formatAuthority(authority))).toEqual(authority);
        expect(parseAuthority(formatAuthority(authority, port), port)).toEqual(authority);
      }),
    );
  });
});

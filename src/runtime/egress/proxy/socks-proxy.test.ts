import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGreeting, readSocksRequest, socksReply, socksReplyCode } from "./socks-proxy.js";

describe("SOCKS", () => {
  it("answers a greeting when it is all there", () => {
    expect(readGreeting(Buffer.from([5]))).toBeUndefined();
    expect(readGreeting(Buffer.from([5, 2, 2]))).toBeUndefined();
    expect(readGreeting(Buffer.from([5, 2, 2, 0, 9]))).toEqual({ value: 0, used: 4 });
    expect(readGreeting(Buffer.from([5, 1, 2]))).toEqual({ value: 0xff, used: 3 });
  });

  it.each([
    ["a name", [3, 3, 97, 46, 98], "a.b"],
    ["an address", [1, 127, 0, 0, 2], "127.0.0.2"],
    ["an IPv6 address", [4, 0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1], "2001:db8::1"],
  ])("reads a request for %s", (_, address, host) => {
    const bytes = Buffer.from([5, 1, 0, ...address, 1, 187]);
    for (let length = 0; length < bytes.length; length++) {
      expect(readSocksRequest(bytes.subarray(0, length))).toBeUndefined();
    }
    const more = Buffer.concat([bytes, Buffer.from("rest")]);
    expect(readSocksRequest(more)).toEqual({
      value: { kind: "connect", host, port: 443 },
      used: bytes.length,
    });
  });

  it("never throws, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
        readGreeting(Buffer.from(noise));
        readSocksRequest(Buffer.from([5, 1, 0, ...noise]));
        readSocksRequest(Buffer.from(noise));
      }),
    );
  });

  it("tells why a connection failed", () => {
    const codes = ["ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", undefined].map(socksReplyCode);
    expect(codes).toEqual([5, 3, 4, 4, 1]);
    expect([...socksReply(2)]).toEqual([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
  });
});

import { Duplex } from "node:stream";
import { connect } from "node:tls";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { looksLikeTls, MAX_CLIENT_HELLO_BYTES, readClientHello } from "./client-hello.js";

/** The first bytes that Node's own TLS client sends. */
async function realHello(servername: string | undefined): Promise<Buffer> {
  let resolve: (hello: Buffer) => void = () => undefined;
  const sent = new Promise<Buffer>((each) => {
    resolve = each;
  });
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  const client = connect({ socket: wire, rejectUnauthorized: false, ...(servername && { servername }) });
  client.on("error", () => undefined);
  const hello = await sent;
  client.destroy();
  return Buffer.from(hello);
}

/** The same message, in records of `size` bytes. */
function cutIntoRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

describe("readClientHello", () => {
  it("reads the name that a real client asks for", async () => {
    const hello = await realHello("api.example.com");
    expect(looksLikeTls(hello)).toBe(true);
    expect(readClientHello(hello)).toEqual({ kind: "hello", serverName: "api.example.com" });
  });

  it("tells a hello without a name", async () => {
    expect(readClientHello(await realHello(undefined))).toEqual({ kind: "hello", serverName: undefined });
  });

  it("waits for every byte of it", async () => {
    const hello = await realHello("api.example.com");
    for (let length = 0; length < hello.length; length++) {
      expect(readClientHello(hello.subarray(0, length))).toEqual({ kind: "incomplete" });
    }
  });

  it.each([30, 100])("reads one that is cut into records of %i bytes", async (size) => {
    const cut = cutIntoRecords(await realHello("api.example.com"), size);
    expect(readClientHello(cut)).toEqual({ kind: "hello", serverName: "api.example.com" });
    expect(readClientHello(cut.subarray(0, -1))).toEqual({ kind: "incomplete" });
    const changeCipherSpec = Buffer.from([20, 3, 3, 0, 1, 1]);
    expect(readClientHello(Buffer.concat([cut, changeCipherSpec]))).toMatchObject({ kind: "hello" });
  });

  it.each([1, 3])("refuses one that is cut into crumbs of %i bytes", async (size) => {
    const cut = cutIntoRecords(await realHello("api.example.com"), size);
    expect(readClientHello(cut)).toMatchObject({ kind: "invalid" });
  });

  it("refuses a second message in the record of the hello", async () => {
    const hello = Buffer.concat([await realHello("a.example"), Buffer.from([1, 0, 0, 0])]);
    hello.writeUInt16BE(hello.length - 5, 3);
    expect(readClientHello(hello)).toMatchObject({ kind: "invalid" });
  });

  it("refuses a name with a NUL in it", async () => {
    const hello = await realHello("good.example");
    hello[hello.indexOf("good.example") + 4] = 0;
    expect(readClientHello(hello)).toMatchObject({ kind: "invalid" });
  });

  it("refuses one that names two servers", async () => {
    const hello = await realHello("aa.example");
    // The list holds aa.example; now it holds "aa" and what is left of it as a second entry.
    hello.writeUInt16BE(2, hello.indexOf("aa.example") - 2);
    expect(readClientHello(hello)).toMatchObject({ kind: "invalid" });
  });

  it("refuses a message that says it is longer than the cap", () => {
    const start = Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0x40, 1]);
    expect(readClientHello(start)).toEqual({ kind: "invalid", why: "the TLS ClientHello is too long" });
    const records = Buffer.concat(Array.from({ length: 3000 }, () => Buffer.from([22, 3, 1, 0, 1, 1])));
    expect(records.length).toBeGreaterThan(MAX_CLIENT_HELLO_BYTES);
    expect(readClientHello(records)).toMatchObject({ kind: "invalid" });
  });

  it("never throws, whatever the bytes are", async () => {
    const hello = await realHello("api.example.com");
    fc.assert(
      fc.property(fc.nat(hello.length - 1), fc.uint8Array({ maxLength: 8 }), (at, noise) => {
        const changed = Buffer.from(hello);
        changed.set(noise.subarray(0, changed.length - at), at);
        expect(["incomplete", "invalid", "hello"]).toContain(readClientHello(changed).kind);
      }),
    );
  });
});

import { generateKeyPairSync } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CertificateAuthority } from "../certificates/authority.js";
import { type HttpHeader, type OutgoingRequest, SecretLeak } from "./edge-secrets.js";
import { Secret } from "./secret.js";
import { SecretSet } from "./secret-set.js";
import { echoesOf } from "./value-encodings.js";

const VALUE = 'ghp_q"8/Zk+Ä&<v>=0123';
const HOST = "api.example.com";
/** No TLS is spoken here. */
const authority = new CertificateAuthority("", generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);

function makeSet(): { set: SecretSet; placeholder: string } {
  const set = new SecretSet([new Secret({ name: "TOKEN", value: VALUE, hosts: [HOST] })], authority);
  return { set, placeholder: set.placeholders()["TOKEN"]! };
}

function accepted(set: SecretSet, parts: Partial<OutgoingRequest> = {}) {
  const request = { host: HOST, port: 443, secure: true, method: "GET", path: "/", headers: [], ...parts };
  const answer = set.request(request);
  if (!answer.ok) throw new Error(answer.why);
  return answer;
}

const latin1 = (text: string) => Buffer.from(text).toString("latin1");

describe("an answer", () => {
  const scrub = async (chunks: (string | Buffer)[], headers: HttpHeader[] = []) => {
    const { set, placeholder } = makeSet();
    const { response } = accepted(set, { headers: [["A", placeholder]] });
    const kept = response!.headers(headers);
    const body = response!.body();
    for (const chunk of chunks) body.write(chunk);
    body.end();
    return { kept, text: (await buffer(body)).toString(), placeholder };
  };

  it("comes in with placeholders for the values that it repeats, in any usual form", async () => {
    const forms = echoesOf(VALUE).map(String);
    expect(forms.length).toBeGreaterThan(10);
    const { text, placeholder } = await scrub([forms.join("\n")]);
    expect(text).toBe(forms.map(() => placeholder).join("\n"));
  });

  it("never brings a value in, wherever it stands, whatever base64 it is in, and however it is cut", async () => {
    const { set, placeholder } = makeSet();
    await fc.assert(
      fc.asyncProperty(
        fc.string({ maxLength: 9 }),
        fc.string({ maxLength: 9 }),
        fc.array(fc.nat(90), { maxLength: 5 }),
        fc.constantFrom("utf8", "base64", "base64url"),
        async (before, after, places, encoding) => {
          const plain = Buffer.from(`${before}${VALUE}${after}`);
          const whole = encoding === "utf8" ? plain : Buffer.from(plain.toString(encoding as BufferEncoding));
          const body = accepted(set).response!.body();
          const ends = [...places.sort((a, b) => a - b), whole.length];
          for (const [index, end] of ends.entries()) body.write(whole.subarray(ends[index - 1] ?? 0, end));
          body.end();
          const text = (await buffer(body)).toString();
          expect(text).toContain(placeholder);
          expect(text).not.toContain(VALUE);
          expect(Buffer.from(text, "base64").toString()).not.toContain(VALUE.slice(1, -1));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("repeats what was sent by Basic as it was asked for", () => {
    const { set, placeholder } = makeSet();
    const asked = `Basic ${Buffer.from(`me:${placeholder}`).toString("base64")}`;
    const { response, headers } = accepted(set, { headers: [["Authorization", asked]] });
    expect(response!.headers([["X-Echo", headers[0]![1]]])).toEqual([["X-Echo", asked]]);
  });

  it("has no value in its headers and its reason, and no length that does not fit", () => {
    const { set, placeholder } = makeSet();
    const headers: HttpHeader[] = [
      ["Location", `https://evil.example/?${encodeURIComponent(VALUE)}`],
      ["Set-Cookie", `a=${latin1(VALUE)}`],
      ["Content-Length", "5"],
    ];
    const { response } = accepted(set);
    expect(response!.headers(headers)).toEqual([
      ["Location", `https://evil.example/?${placeholder}`],
      ["Set-Cookie", `a=${placeholder}`],
    ]);
    expect(response!.text(`No ${latin1(VALUE)}`)).toBe(`No ${placeholder}`);
    expect(accepted(set, { method: "HEAD" }).response!.headers([["Content-Length", "5"]])).toEqual([
      ["Content-Length", "5"],
    ]);
  });

  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("compressed with %s is opened first", async (encoding, compress) => {
    const filler = "0123456789".repeat(100_000);
    const bytes = compress(`${filler}${VALUE}${filler}`);
    const chunks = [bytes.subarray(0, 50), bytes.subarray(50)];
    const { kept, text, placeholder } = await scrub(chunks, [
      ["Content-Encoding", encoding],
      ["Content-Length", String(bytes.length)],
    ]);
    expect(kept).toEqual([]);
    expect(text).toBe(`${filler}${placeholder}${filler}`);
  });

  it("compressed and empty is empty, and compressed and cut off fails", async () => {
    expect((await scrub([], [["Content-Encoding", "gzip"]])).text).toBe("");
    const cut = gzipSync("x".repeat(1000)).subarray(0, 20);
    await expect(scrub([cut], [["Content-Encoding", "gzip"]])).rejects.toThrow("unexpected end of file");
  });

  it("is decompressed no faster than it is read", async () => {
    const { set } = makeSet();
    const { response } = accepted(set);
    response!.headers([["Content-Encoding", "gzip"]]);
    const body = response!.body();
    const size = 64 * 1024 * 1024;
    body.end(gzipSync(Buffer.alloc(size)));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(body.readableLength).toBeLessThan(1024 * 1024);
    let read = 0;
    for await (const bytes of body) read += (bytes as Buffer).length;
    expect(read).toBe(size);
  });

  it.each(["zstd", "gzip, br", "constructor", "__proto__", "toString"])(
    "compressed with %s is refused",
    async (encoding) => {
      const error = await scrub(["x"], [["Content-Encoding", encoding]]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SecretLeak);
      expect(error).toMatchObject({ secrets: ["TOKEN"] });
    },
  );

  it("that became a WebSocket keeps its length", async () => {
    const { text } = await scrub([`\x81\x7e${VALUE}!`], [["Sec-WebSocket-Accept", "x"]]);
    expect(text).toBe(`\x81\x7e${"*".repeat(Buffer.byteLength(VALUE))}!`);
  });
});

import { generateKeyPairSync } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { inspect } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { CertificateAuthority } from "../certificates/authority.js";
import { createRootCertificate } from "../certificates/certificate.js";
import { type HttpHeader, type OutgoingRequest, SecretLeak } from "./edge-secrets.js";
import { Secret, type SecretOptions } from "./secret.js";
import { SecretSet } from "./secret-set.js";
import { echoesOf } from "./value-encodings.js";

const VALUE = 'ghp_q"8/Zk+Ä&<v>=0123';
const HOST = "api.example.com";

let authority: CertificateAuthority;
beforeAll(() => {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const valid = { from: new Date(Date.now() - 1000), until: new Date(Date.now() + 86_400_000) };
  authority = new CertificateAuthority(createRootCertificate("test", key, valid), key);
});

function makeSet(...options: Partial<SecretOptions>[]): { set: SecretSet; placeholder: string } {
  const secrets = options.map((each) => new Secret({ name: "TOKEN", value: VALUE, hosts: [HOST], ...each }));
  const set = new SecretSet(secrets, authority);
  return { set, placeholder: Object.values(set.placeholders())[0]! };
}

function ask(set: SecretSet, parts: Partial<OutgoingRequest> = {}) {
  return set.request({
    host: HOST,
    port: 443,
    secure: true,
    method: "GET",
    path: "/",
    headers: [],
    ...parts,
  });
}

function accepted(set: SecretSet, parts: Partial<OutgoingRequest> = {}) {
  const answer = ask(set, parts);
  if (!answer.ok) throw new Error(answer.why);
  return answer;
}

async function sent(set: SecretSet, type: string, ...chunks: string[]): Promise<string> {
  const { body } = accepted(set, { method: "POST", headers: [["Content-Type", type]] });
  for (const chunk of chunks) body!.write(chunk);
  body!.end();
  return (await buffer(body!)).toString();
}

const IDENTITY: HttpHeader = ["accept-encoding", "identity"];
const latin1 = (text: string) => Buffer.from(text).toString("latin1");

describe("a secret", () => {
  it.each([
    ["empty", { value: "" }, "is empty"],
    ["with a line break", { value: "12345678\r\nX: y" }, "line break"],
    ["with a NUL", { value: "1234\0 5678" }, "control character"],
    ["that ends with a space", { value: "12345678 " }, "space"],
    ["of half a character", { value: "12345678\ud800" }, "not text"],
    ["that is too short", { value: "1234567" }, "fewer than 8"],
    ["that is too long", { value: "x".repeat(9000) }, "more than 8192"],
    ["without hosts", { hosts: [] }, "no host"],
    ["for a top-level domain", { hosts: ["*.com"] }, "not the name of a host"],
    ["for everything", { hosts: ["*"] }, "not the name of a host"],
    ["for a URL", { hosts: ["https://api.example.com/"] }, "not the name of a host"],
    ["for an address", { hosts: ["192.0.2.1"] }, "not the name of a host"],
    ["for a port", { hosts: ["api.example.com:443"] }, "not the name of a host"],
    ["with a strange name", { name: "A-B" }, "none of a variable"],
    ["in a strange place", { in: ["cookie" as never] }, "header, query, body"],
  ])("%s is refused, without its value in the error", (_, options, message) => {
    const value = "value" in options ? options.value : VALUE;
    let error: unknown;
    try {
      makeSet(options);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(message) });
    if (value.length > 3)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(value.slice(0, 7));
  });

  it("is given once", () => {
    expect(() => makeSet({}, {})).toThrow("The secret TOKEN is given twice");
  });

  it("is seen in nothing that prints or serialises it", () => {
    const { set, placeholder } = makeSet({ in: ["header", "query", "body"] });
    const secret = new Secret({ name: "TOKEN", value: VALUE, hosts: [HOST] });
    const { body, response } = accepted(set);
    const refused = ask(set, { host: "evil.example", path: `/${placeholder}` });
    const options = { depth: 20, showHidden: true, getters: true } as const;
    const text = [secret, set, body, response, response!.body(), set.guard(), refused, authority]
      .flatMap((each) => [inspect(each, options), String(each), jsonOf(each)])
      .join("\n");
    for (const form of echoesOf(VALUE)) expect(text).not.toContain(form.toString());
    expect(text).not.toContain("PRIVATE KEY");
    expect(JSON.stringify(set)).toBe(
      '{"secrets":[{"name":"TOKEN","hosts":["api.example.com"],"in":["header","query","body"]}]}',
    );
    expect(inspect(secret)).toBe("Secret TOKEN for api.example.com");
  });

  it("has another placeholder in every sandbox, of characters that need no escape anywhere", () => {
    const [one, other] = [makeSet({}).placeholder, makeSet({}).placeholder];
    expect(one).toMatch(/^skerry_secret_TOKEN_[0-9a-f]{32}$/);
    expect(one).not.toBe(other);
  });

  it("is taken out of text that is written down", () => {
    const { set, placeholder } = makeSet({});
    expect(set.redact(`ü ${VALUE} and ${encodeURIComponent(VALUE)}`)).toBe(
      `ü ${placeholder} and ${placeholder}`,
    );
  });
});

describe("a request", () => {
  it.each([
    [HOST, true],
    ["x.api.example.com", false],
    ["xapi.example.com", false],
    ["example.com", false],
    ["a.files.example.com", true],
    ["a.b.files.example.com", true],
    ["files.example.com", false],
    [".files.example.com", false],
  ])("to %s: terminated %j", async (host, isMine) => {
    const hosts = ["API.example.com.", "*.files.example.com"];
    const { set, placeholder } = makeSet({ hosts });
    expect(set.terminates(host)).toBe(isMine);
    expect(ask(set, { host, headers: [["X-Key", placeholder]] }).ok).toBe(isMine);
    if (!isMine) await expect(set.secureContext(host)).rejects.toThrow("No secret is for this host");
  });

  it("gets the value wherever the placeholder stands in a header", () => {
    const { set, placeholder } = makeSet({});
    const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
    const headers: HttpHeader[] = [
      ["Authorization", `Bearer ${placeholder}`],
      ["X-Both", `a=${placeholder}; b=${placeholder}`],
      ["authorization", basic(`me:${placeholder}`)],
      ["AUTHORIZATION", `bAsIc   ${Buffer.from(`${placeholder}:`).toString("base64")}`],
      ["X-Other", `Basic ${Buffer.from("me:you").toString("base64")}`],
    ];
    expect(accepted(set, { headers })).toMatchObject({
      path: "/",
      used: ["TOKEN"],
      headers: [
        ["Authorization", `Bearer ${latin1(VALUE)}`],
        ["X-Both", `a=${latin1(VALUE)}; b=${latin1(VALUE)}`],
        ["authorization", basic(`me:${VALUE}`)],
        ["AUTHORIZATION", `bAsIc   ${Buffer.from(`${VALUE}:`).toString("base64")}`],
        headers[4],
        IDENTITY,
      ],
    });
  });

  it("gets it percent-encoded in its path and query, where that is asked for", () => {
    const { set, placeholder } = makeSet({ in: ["query"] });
    const escaped = placeholder.replace(
      /[sr_4f]/g,
      (character) => `%${character.charCodeAt(0).toString(16)}`,
    );
    const encoded = "ghp_q%228%2FZk%2B%C3%84%26%3Cv%3E%3D0123";
    const path = `/bot${placeholder}/send?key=${escaped}&x=%2f%zz`;
    expect(accepted(set, { path })).toMatchObject({
      path: `/bot${encoded}/send?key=${encoded}&x=%2f%zz`,
      used: ["TOKEN"],
    });
  });

  it.each([
    ["application/json; charset=utf-8", JSON.stringify(VALUE).slice(1, -1)],
    ["application/vnd.api+json", JSON.stringify(VALUE).slice(1, -1)],
    ["application/x-www-form-urlencoded", "ghp_q%228%2FZk%2B%C3%84%26%3Cv%3E%3D0123"],
    ["text/xml", "ghp_q&quot;8/Zk+Ä&amp;&lt;v&gt;=0123"],
    ["text/plain", VALUE],
  ])("gets it in a body of %s, where that is asked for", async (type, form) => {
    const { set, placeholder } = makeSet({ in: ["body"] });
    const [one, two] = [placeholder.slice(0, 20), placeholder.slice(20)];
    expect(await sent(set, type, "a=", one, two, "&b=", placeholder)).toBe(`a=${form}&b=${form}`);
  });

  it("tells who was put into a body, and leaves the body's length open", async () => {
    const { set, placeholder } = makeSet({ in: ["body"] });
    const headers: HttpHeader[] = [["Content-Length", String(placeholder.length)]];
    const answer = accepted(set, { method: "POST", headers });
    expect(answer.headers).toEqual([IDENTITY]);
    expect(answer.used).toEqual([]);
    answer.body!.end(placeholder);
    expect((await buffer(answer.body!)).toString()).toBe(VALUE);
    expect(answer.used).toEqual(["TOKEN"]);
    expect(accepted(set, { headers: [["content-length", "0"]] }).headers).toEqual([
      ["content-length", "0"],
      IDENTITY,
    ]);
    expect(accepted(makeSet({}).set, { headers }).headers).toEqual([...headers, IDENTITY]);
  });

  it("asks for an answer that can be looked into", () => {
    const headers: HttpHeader[] = [
      ["Accept-Encoding", "gzip, br"],
      ["Sec-WebSocket-Extensions", "permessage-deflate"],
      ["Accept", "*/*"],
    ];
    expect(accepted(makeSet({}).set, { headers }).headers).toEqual([["Accept", "*/*"], IDENTITY]);
    expect(accepted(makeSet({}).set, { headers, host: "other.example" }).headers).toEqual(headers);
  });

  const everywhere = { in: ["header", "query", "body"] } as const;
  it.each<[string, Partial<SecretOptions>, (placeholder: string) => Partial<OutgoingRequest>, string]>([
    [
      "another host",
      everywhere,
      (p) => ({ host: "evil.example", headers: [["A", p]] }),
      "not for evil.example",
    ],
    [
      "another host, in Basic",
      everywhere,
      (p) => ({ host: "evil.example", headers: [["A", `Basic ${Buffer.from(p).toString("base64")}`]] }),
      "not for evil.example",
    ],
    [
      "another host, in its path",
      everywhere,
      (p) => ({ host: "evil.example", path: `/?${p}` }),
      "not for evil.example",
    ],
    [
      "another host, escaped",
      everywhere,
      (p) => ({ host: "evil.example", path: `/?%73${p.slice(1)}` }),
      "not for evil.example",
    ],
    ["no TLS", everywhere, (p) => ({ secure: false, headers: [["A", p]] }), "is only sent over TLS"],
    ["a query that was not asked for", {}, (p) => ({ path: `/?${p}` }), "may stand in header, not in query"],
    [
      "a header that was not asked for",
      { in: ["query"] },
      (p) => ({ headers: [["A", p]] }),
      "stand in query, not in header",
    ],
    ["a header's name", everywhere, (p) => ({ headers: [[p, "x"]] }), "cannot be put in"],
    ["the method", everywhere, (p) => ({ method: p }), "cannot be put in"],
    ["Host", everywhere, (p) => ({ headers: [["Host", p]] }), "cannot be put in"],
    [
      "a header, escaped",
      everywhere,
      (p) => ({ headers: [["A", p.replaceAll("_", "%5F")]] }),
      "cannot be put in",
    ],
    [
      "a compressed body",
      everywhere,
      () => ({ headers: [["Content-Encoding", "gzip"]] }),
      "cannot be put into a compressed body",
    ],
  ])("is refused with a placeholder for %s", (_, options, parts, why) => {
    const { set, placeholder } = makeSet(options);
    expect(ask(set, parts(placeholder))).toEqual({
      ok: false,
      why: expect.stringMatching(new RegExp(`^the secret TOKEN .*${why}`)),
      secrets: ["TOKEN"],
    });
  });

  it.each<[string, Partial<SecretOptions>, Partial<OutgoingRequest>, string]>([
    [
      "of another host",
      { in: ["body"] },
      { host: "evil.example" },
      "the secret TOKEN is not for evil.example",
    ],
    [
      "without TLS",
      { in: ["body"] },
      { secure: false },
      `the secret TOKEN is only sent over TLS, and this request to ${HOST} is not`,
    ],
    ["that was not asked for", {}, {}, "the secret TOKEN may stand in header, not in body"],
  ])("fails with a placeholder in a body %s, before it is sent", async (_, options, parts, why) => {
    const { set, placeholder } = makeSet(options);
    const { body } = accepted(set, { method: "POST", ...parts });
    const out: Buffer[] = [];
    body!.on("data", (bytes: Buffer) => out.push(bytes));
    const failed = new Promise<unknown>((resolve) => body!.on("error", resolve));
    body!.write(`x${placeholder.slice(0, 30)}`);
    body!.write(placeholder.slice(30));
    const error = await failed;
    expect(error).toBeInstanceOf(SecretLeak);
    expect(error).toMatchObject({ message: why, secrets: ["TOKEN"] });
    expect(Buffer.concat(out).toString()).toBe("x");
  });

  it("of a sandbox without secrets has nothing to do", () => {
    const set = new SecretSet([], authority);
    expect(ask(set, { path: "/%41", headers: [["Accept-Encoding", "gzip"]] })).toEqual({
      ok: true,
      path: "/%41",
      headers: [["Accept-Encoding", "gzip"]],
      used: [],
    });
    expect(set.guard()).toBeUndefined();
  });

  it("never takes a value to another host, whatever is in it", async () => {
    const { set, placeholder } = makeSet(everywhere, {
      name: "OTHER",
      value: "other-value-99",
      hosts: ["other.example"],
    });
    const other = set.placeholders()["OTHER"]!;
    const piece = fc.oneof(
      fc.constantFrom(
        placeholder,
        other,
        placeholder.toUpperCase(),
        placeholder.slice(3),
        "%",
        "%73",
        " ",
        "Basic ",
      ),
      fc.constant(Buffer.from(`a:${placeholder}`).toString("base64")),
      fc.string({ maxLength: 5 }),
    );
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        text,
        fc.constantFrom(HOST, "evil.example", "other.example"),
        async (path, header, content, host) => {
          const answer = ask(set, { host, path, method: "POST", headers: [["A", header]] });
          if (!answer.ok) return;
          answer.body!.end(content);
          const body = await buffer(answer.body!).catch(() => Buffer.alloc(0));
          const whole = `${answer.path}\n${answer.headers.join("\n")}\n${body}`;
          for (const [own, value] of [
            [HOST, VALUE],
            ["other.example", "other-value-99"],
          ] as const) {
            if (host === own) continue;
            for (const form of echoesOf(value)) expect(whole).not.toContain(form.toString());
          }
          // Nothing that names a secret gets away unreplaced.
          expect(whole).not.toContain(placeholder);
          expect(whole).not.toContain(other);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("a tunnel that cannot be read", () => {
  it("fails when a placeholder passes, and lets everything else through at once", async () => {
    const { set, placeholder } = makeSet({});
    const guard = set.guard()!;
    const out: Buffer[] = [];
    guard.on("data", (bytes: Buffer) => out.push(bytes));
    const failed = new Promise<unknown>((resolve) => guard.on("error", resolve));
    guard.write("\x16\x03 hello skerry_");
    await expect.poll(() => Buffer.concat(out).toString()).toBe("\x16\x03 hello skerry_");
    guard.write(placeholder.slice("skerry_".length));
    expect(await failed).toMatchObject({
      message: "the secret TOKEN cannot be put in here",
      secrets: ["TOKEN"],
    });
    expect(Buffer.concat(out).toString()).toBe("\x16\x03 hello skerry_");
  });
});

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // A stream refers to itself.
    return "";
  }
}

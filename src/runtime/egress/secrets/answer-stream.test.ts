import { generateKeyPairSync } from "node:crypto";
import type { Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createGzip, constants as zlib } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CertificateAuthority } from "../certificates/authority.js";
import { type HttpHeader, SecretLeak } from "./edge-secrets.js";
import { Secret } from "./secret.js";
import { SecretSet } from "./secret-set.js";
import { echoesOf } from "./value-encodings.js";

const VALUE = "ghp_S3cr3t/Value+0123456789abcdefXYZ";
const FORMS = echoesOf(VALUE).map(String);
const HOST = "api.example.com";
const GUESSED = "an answer was made to guess the secret TOKEN";
/** No TLS is spoken here. */
const authority = new CertificateAuthority("", generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);

function makeSet(...values: string[]): SecretSet {
  const secrets = [VALUE, ...values].map(
    (value, index) => new Secret({ name: index === 0 ? "TOKEN" : `TOKEN${index}`, value, hosts: [HOST] }),
  );
  return new SecretSet(secrets, authority);
}

function ask(set: SecretSet, headers: HttpHeader[] = [], host = HOST) {
  return set.request({ host, port: 443, secure: true, method: "GET", path: "/", headers });
}

/** An answer's body, and what has come out of it by now. */
function open(
  set = makeSet(),
  { asked = [], answered = [] }: { asked?: HttpHeader[]; answered?: HttpHeader[] } = {},
) {
  const prepared = ask(set, asked);
  if (!prepared.ok) throw new Error(prepared.why);
  prepared.response!.headers(answered);
  const body: Transform = prepared.response!.body();
  const out: Buffer[] = [];
  const errors: Error[] = [];
  body.on("data", (bytes: Buffer) => out.push(bytes)).on("error", (error) => errors.push(error));
  return { body, out, errors, text: () => Buffer.concat(out).toString("latin1") };
}

/** Text that has much of a value in it, but not the whole. */
const nearly = fc
  .array(
    fc.oneof(
      fc
        .tuple(fc.constantFrom(...FORMS), fc.nat())
        .map(([form, length]) => form.slice(0, length % form.length)),
      fc.tuple(fc.constantFrom(...FORMS), fc.nat()).map(([form, at]) => form.slice(1 + (at % form.length))),
      fc.string({ maxLength: 90 }),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(""));

const hasValue = (text: string) => FORMS.some((form) => text.includes(form));
/** What may be told: that an answer ends with as much as this of a value. */
const endsInValue = (text: string) =>
  FORMS.some((form) =>
    Array.from({ length: form.length - 8 }, (_, more) => form.slice(0, 8 + more)).some((start) =>
      text.endsWith(start),
    ),
  );

afterEach(() => {
  vi.useRealTimers();
});

describe("the pieces of an answer", () => {
  const settle = () => vi.advanceTimersByTimeAsync(0);

  /** Their lengths, step by step. */
  async function lengths(steps: readonly (readonly [text: string, pauses: boolean])[]): Promise<number[][]> {
    vi.useFakeTimers();
    const { body, out } = open();
    const seen: number[][] = [];
    const look = () => seen.push(out.splice(0).map(({ length }) => length));
    for (const [text, pauses] of steps) {
      body.write(text, "latin1");
      await settle();
      look();
      if (pauses) await vi.advanceTimersByTimeAsync(30);
      look();
    }
    body.end();
    await settle();
    look();
    vi.useRealTimers();
    return seen;
  }

  it.each([false, true])("are the same whatever it nearly says, with pauses in it: %s", async (mayPause) => {
    const pauses = mayPause ? fc.boolean() : fc.constant(false);
    const steps = fc.array(fc.tuple(nearly, pauses), { minLength: 1, maxLength: 8 }).filter((list) => {
      const texts = list.map(([text], index) =>
        [list.slice(0, index).map(([each]) => each), text].flat().join(""),
      );
      if (hasValue(texts.at(-1)!)) return false;
      return !list.some(([, isPause], index) => isPause && endsInValue(texts[index]!));
    });
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const neutral = list.map(([text, isPause]) => ["!".repeat(text.length), isPause] as const);
        expect(await lengths(list)).toEqual(await lengths(neutral));
      }),
      { numRuns: 400 },
    );
  });

  it("tell little of how long a value is", async () => {
    const first = async (value: string) => {
      const { body, out } = open(makeSet(value));
      body.write("!".repeat(5000));
      await sleep(0);
      return out.map(({ length }) => length);
    };
    expect(await first("q".repeat(45))).toEqual(await first("q".repeat(48)));
  });

  it("never have the value between them, and of its beginning less than eight bytes", async () => {
    const steps = fc.tuple(
      fc.constantFrom(...FORMS),
      fc.array(fc.tuple(fc.nat(60), fc.boolean()), { maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.string({ maxLength: 9 }), async ([form, cuts], around) => {
        vi.useFakeTimers();
        const { body, text, errors } = open();
        let rest = `${around}${form}${around}`;
        for (const [length, isPause] of cuts) {
          body.write(rest.slice(0, length), "latin1");
          rest = rest.slice(length);
          await vi.advanceTimersByTimeAsync(isPause ? 30 : 0);
        }
        body.end(rest, "latin1");
        await settle();
        vi.useRealTimers();
        expect(errors).toEqual([]);
        expect(hasValue(text())).toBe(false);
        expect(text()).toContain("skerry_secret_TOKEN");
        expect(text()).not.toContain(form.slice(0, 8));
      }),
      { numRuns: 300 },
    );
  });
});

describe("an answer that goes on", () => {
  it("brings an event in at once, though nothing follows it", async () => {
    const { body, text } = open();
    for (const event of ["data: 1\n\n", `data: ${"x".repeat(500)}\n\n`, "data: ghp_S3c"]) {
      const before = text();
      body.write(event);
      await expect.poll(text, { interval: 1 }).toBe(before + event);
    }
  });

  it("brings events in that are compressed", async () => {
    const gzip = createGzip({ flush: zlib.Z_SYNC_FLUSH });
    const { body, text } = open(makeSet(), { answered: [["Content-Encoding", "gzip"]] });
    gzip.pipe(body);
    gzip.write("data: 1\n\n");
    await vi.waitFor(() => expect(text()).toBe("data: 1\n\n"));
    gzip.write(`data: ${VALUE}\n\n`);
    await vi.waitFor(() => expect(text()).toMatch(/^data: 1\n\ndata: skerry_secret_TOKEN_\w+\n\n$/));
  });

  it("is not idle while its reader takes nothing", async () => {
    const set = makeSet();
    const prepared = ask(set);
    const body = prepared.ok ? prepared.response!.body() : undefined!;
    const filler = Buffer.alloc(300 * 1024, "!");
    body.write(Buffer.concat([filler, Buffer.from("ghp_S")]));
    body.write(Buffer.from(VALUE.slice(5)));
    await sleep(80);
    body.end();
    const text = (await buffer(body)).toString();
    expect(text.slice(filler.length)).toBe(set.placeholders()["TOKEN"]);
  });
});

describe("guessing", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  /** Lets time pass for the answers' timers. */
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  /** An answer that ends for a while, as a program sees it: what of it came in. */
  async function guess(
    set: SecretSet,
    text: string,
    headers: { asked?: HttpHeader[]; answered?: HttpHeader[] } = {},
  ) {
    const answer = open(set, headers);
    answer.body.write(text);
    await pass(60);
    return answer;
  }

  it("is seen by what is kept back, and closes the secret's hosts at the third time", async () => {
    const set = makeSet();
    for (const [index, length] of [9, 20].entries()) {
      const { body, errors, text } = await guess(set, `x${VALUE.slice(0, length)}`);
      expect(text()).toBe("x");
      // Neither going on nor breaking off takes it back.
      if (index === 0) body.end("!");
      else body.destroy();
      await pass(5);
      expect(errors).toEqual([]);
      expect(ask(set).ok).toBe(true);
    }
    const other = open(set);
    const { errors, text } = await guess(set, `x${VALUE.slice(0, 12)}`);
    expect(errors).toEqual([new SecretLeak(GUESSED, ["TOKEN"])]);
    expect(text()).toBe("x");
    expect(ask(set)).toEqual({
      ok: false,
      why: "the secret TOKEN was guessed at: its hosts are closed to this sandbox",
      secrets: ["TOKEN"],
    });
    // What was open then is no way around it, whatever comes.
    other.body.write("!");
    await pass(5);
    expect(other.errors).toEqual([new SecretLeak(GUESSED, ["TOKEN"])]);
    expect(ask(set, [], "other.example.com").ok).toBe(true);
    expect(ask(makeSet()).ok).toBe(true);
  });

  it("counts while answers are still open", async () => {
    const set = makeSet();
    const answers = [open(set), open(set), open(set)];
    for (const { body } of answers) body.write(VALUE.slice(0, 10));
    await pass(80);
    expect(answers.flatMap(({ errors }) => errors).length).toBeGreaterThan(0);
    expect(ask(set).ok).toBe(false);
  });

  it("is not what a host does that pauses in the midst of a value", async () => {
    const set = makeSet();
    for (let count = 0; count < 5; count++) {
      const { body, text, errors } = await guess(set, VALUE.slice(0, 20));
      body.end(VALUE.slice(20));
      await pass(5);
      expect([text(), errors]).toEqual([set.placeholders()["TOKEN"], []]);
    }
    expect(ask(set).ok).toBe(true);
  });

  it("is not a whole value that could be the beginning of more", async () => {
    const set = makeSet(`${VALUE}-and-more`);
    for (let count = 0; count < 3; count++) {
      expect((await guess(set, `x${VALUE}`)).text()).toBe(`x${set.placeholders()["TOKEN"]}`);
    }
    expect(ask(set).ok).toBe(true);
  });

  it("is not what goes on at once, nor less than eight bytes", async () => {
    const set = makeSet();
    const { body, text, errors } = open(set);
    for (let count = 0; count < 50; count++) body.write(`${VALUE.slice(0, 20)}!`);
    for (let count = 0; count < 4; count++) {
      body.write(VALUE.slice(0, 7));
      await pass(40);
    }
    expect(text()).toBe(`${VALUE.slice(0, 20)}!`.repeat(50) + VALUE.slice(0, 7).repeat(4));
    expect(errors).toEqual([]);
  });

  it("does not begin with what the program has put before the value itself", async () => {
    const set = makeSet();
    const own = "a-user-of-the-program's-own-choice:";
    const basic = Buffer.from(`${own}${set.placeholders()["TOKEN"]}`).toString("base64");
    const start = Buffer.from(`${own}${VALUE}`).toString("base64").slice(0, 50);
    const { text } = await guess(set, start, { asked: [["Authorization", `Basic ${basic}`]] });
    expect(text()).toBe(start);
  });

  it("closes a WebSocket too", async () => {
    const set = makeSet();
    const answered: HttpHeader[] = [["Sec-WebSocket-Accept", "x"]];
    const all = [];
    for (let count = 0; count < 3; count++) {
      all.push((await guess(set, `\x81\x0a${VALUE.slice(0, 10)}`, { answered })).errors.length);
    }
    expect(all).toEqual([0, 0, 1]);
  });
});

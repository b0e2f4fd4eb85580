import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { growthOf, LINEAR } from "../../../../test/setup/growth.js";
import { type Replacement, Replacer, replaceBytes, StreamReplace } from "./stream-replace.js";
import { echoesOf } from "./value-encodings.js";

function by(find: string, put: string): Replacement {
  return { find: Buffer.from(find), by: () => Buffer.from(put) };
}

/** The text in chunks that end at these places. */
function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

function inChunks(
  text: string,
  places: readonly number[],
  replacements: readonly Replacement[],
  hold?: number,
): string {
  const replacer = new Replacer(replacements, hold === undefined ? {} : { hold });
  const out = cut(text, places).flatMap((chunk) => replacer.push(chunk));
  return Buffer.concat([...out, ...replacer.end()]).toString("latin1");
}

/** The same by hand: at each place the longest that fits there. */
function expected(text: string, pairs: readonly (readonly [string, string])[]): string {
  const longest = [...pairs].sort(([a], [b]) => b.length - a.length);
  let out = "";
  for (let at = 0; at < text.length; ) {
    const pair = longest.find(([find]) => text.startsWith(find, at));
    out += pair?.[1] ?? text[at];
    at += pair?.[0].length ?? 1;
  }
  return out;
}

/** Few letters, so that matches overlap and nearly happen. */
const letters = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: min, maxLength: max });

describe("replacing in a stream", () => {
  it("gives what it gives for the whole, wherever the chunks end", () => {
    const pairs = fc.uniqueArray(fc.tuple(letters(1, 5), fc.constantFrom("", "X", "YYYYYYY")), {
      minLength: 1,
      maxLength: 4,
      selector: ([find]) => find,
    });
    fc.assert(
      fc.property(letters(0, 60), pairs, fc.array(fc.nat(), { maxLength: 12 }), (text, list, places) => {
        const replacements = list.map(([find, put]) => by(find, put));
        expect(inChunks(text, places, replacements)).toBe(expected(text, list));
        expect(inChunks(text, places, replacements, 5)).toBe(expected(text, list));
        expect(inChunks(text, places, replacements, 9)).toBe(expected(text, list));
      }),
      { numRuns: 2000 },
    );
  });

  it("never lets through what it looks for, whatever is released in between", () => {
    const step = fc.tuple(letters(1, 7), fc.boolean());
    fc.assert(
      fc.property(letters(8, 12), fc.array(step, { maxLength: 12 }), (find, steps) => {
        const replacer = new Replacer([by(find, "#")]);
        const out = steps.flatMap(([text, isReleased]) => {
          const given = replacer.push(Buffer.from(text));
          return [...given, (isReleased && replacer.release(3)) || Buffer.alloc(0)];
        });
        expect(Buffer.concat([...out, ...replacer.end()]).toString()).not.toContain(find);
      }),
      { numRuns: 2000 },
    );
  });

  it("keeps the length with replacements that do, also after a release", () => {
    const replacer = new Replacer([by("abcdefgh", "********")]);
    const out = [...replacer.push(Buffer.from("xxabc")), replacer.release(3)!];
    expect(Buffer.concat([...out, ...replacer.push(Buffer.from("defghyy"))]).toString()).toBe("xxabc*****yy");
  });

  it("holds nothing back but the beginning of a match", () => {
    const replacer = new Replacer([by("secret", "#"), by("creature", "#")]);
    const given = (text: string) => Buffer.concat(replacer.push(Buffer.from(text))).toString();
    expect(["to se", "lect", " cre", "ature", "secre", "ature"].map(given)).toEqual([
      "to ",
      "select",
      " ",
      "#",
      "",
      "se#",
    ]);
  });

  it("passes a short beginning on when nothing follows, and a long one not", async () => {
    const stream = new StreamReplace([by("abcdefgh", "#")], { releaseUpTo: 3 });
    let out = "";
    stream.on("data", (bytes: Buffer) => {
      out += bytes;
    });
    stream.write("1abc");
    await sleep(100);
    expect(out).toBe("1abc");
    stream.write("d");
    await sleep(100);
    expect(out).toBe("1abc");
    stream.write("efgh2");
    stream.write("abcd");
    await sleep(100);
    expect(out).toBe("1abc#2");
    stream.end();
    await sleep(10);
    expect(out).toBe("1abc#2abcd");
  });

  it("fails with the error of a match, and gives out nothing of it", async () => {
    const leak = new Error("leak");
    const stream = new StreamReplace([{ find: Buffer.from("secret"), by: () => leak }], { releaseUpTo: 0 });
    const out: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => out.push(bytes));
    const failed = new Promise((resolve) => stream.on("error", resolve));
    stream.write("a sec");
    stream.write("ret");
    expect(await failed).toBe(leak);
    expect(Buffer.concat(out).toString()).toBe("a ");
  });

  it("takes no longer over the right letters than over wrong ones, where ends are held back", () => {
    const forms = echoesOf("ghp_S3cr3tValue0123456789abcdefXYZ").map((form) => by(String(form), "#"));
    const time = (text: string) => {
      const chunk = Buffer.alloc(64 * 1024, text);
      const replacer = new Replacer(forms, { hold: 64 });
      const start = process.hrtime.bigint();
      for (let count = 0; count < 4; count++) replacer.push(chunk);
      return Number(process.hrtime.bigint() - start);
    };
    for (const right of ["g", "Z", "ghp_S3"]) {
      // The best of many, one after the other: other tests run at the same time.
      const pairs = Array.from({ length: 30 }, () => [time("!"), time(right)] as const);
      const [wrong, rest] = [0, 1].map((which) => Math.min(...pairs.map((pair) => pair[which]!)));
      // By indexOf it is many times as long.
      expect(rest! / wrong!).toBeLessThan(3);
    }
  });

  it("takes time by the length of what it reads", () => {
    const replacements = Array.from({ length: 7 }, (_, index) =>
      by(`${"QTzxkjv"[index]}ghp_0123456789abcdef`, "#"),
    );
    const read = (size: number) =>
      new Replacer(replacements).push(Buffer.alloc(size, "The quick brown fox. "));
    expect(growthOf(read, 1 << 20)).toBeLessThan(LINEAR);
    expect(replaceBytes(Buffer.from("Qghp_0123456789abcdef"), replacements).toString()).toBe("#");
  });
});

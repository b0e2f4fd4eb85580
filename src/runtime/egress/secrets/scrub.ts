import { Transform, type TransformCallback } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AnswerStream, type SecretForm } from "./answer-stream.js";
import { type EdgeResponse, type HttpHeader, SecretLeak } from "./edge-secrets.js";
import type { GuessCounter } from "./guess-counter.js";
import type { PlacedSecret } from "./secret.js";
import { replaceText } from "./stream-replace.js";
import type { Echo } from "./substitute.js";
import { echoesOf } from "./value-encodings.js";

/** A map: the name comes from the host, and an object inherits names. */
const DECODERS = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Takes out of an answer what it repeats of the secrets: their placeholders come in instead. */
export function scrubber(
  method: string,
  placed: readonly PlacedSecret[],
  echoes: readonly Echo[],
  guesses: GuessCounter,
): EdgeResponse {
  const values = placed.flatMap(({ secret, placeholder }) =>
    echoesOf(secret.reveal()).map(
      (find): SecretForm => ({ find, by: () => Buffer.from(placeholder), secrets: [secret.name], known: 0 }),
    ),
  );
  // The whole of what was put in comes back as the whole that it was.
  const wholes = echoes.map((echo) => wholeForm(echo, placed));
  const all: readonly SecretForm[] = [...wholes, ...values];
  let makeBody = (): Transform => new AnswerStream(all, guesses);

  return {
    headers(headers) {
      const scrubbed = headers.map(
        ([name, value]): HttpHeader => [replaceText(name, all), replaceText(value, all)],
      );
      // An answer to HEAD has no body, and tells the length of one.
      if (method === "HEAD") return scrubbed;
      const valuesOf = (wanted: string) =>
        scrubbed.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
      const encodings = valuesOf("content-encoding")
        .flatMap((value) => value.toLowerCase().split(","))
        .map((each) => each.trim())
        .filter((each) => each !== "" && each !== "identity");
      if (encodings.length > 0) makeBody = () => decoded(encodings);
      else if (valuesOf("sec-websocket-accept").length > 0) makeBody = masked;
      return scrubbed.filter(
        ([name]) => !["content-length", "content-encoding"].includes(name.toLowerCase()),
      );
    },
    text: (text) => replaceText(text, all),
    body: () => makeBody(),
  };

  function decoded(encodings: readonly string[]): Transform {
    const decoder = encodings.length === 1 ? DECODERS.get(encodings[0]!) : undefined;
    if (decoder !== undefined) return new AnswerStream(all, guesses, decoder());
    const names = placed.map(({ secret }) => secret.name);
    const why = `the answer is compressed in a way that cannot be searched for ${names.join(", ")}`;
    const fail = (done: TransformCallback) => done(new SecretLeak(why, names));
    return new Transform({ transform: (_chunk, _encoding, done) => fail(done), flush: fail });
  }

  /** Frames have their lengths inside. */
  function masked(): Transform {
    const stars = all.map((each) => ({ ...each, by: () => Buffer.alloc(each.find.length, "*") }));
    return new AnswerStream(stars, guesses);
  }
}

/** What stands before the value in it is the program's: having that right is no guess. */
function wholeForm({ sent, was }: Echo, placed: readonly PlacedSecret[]): SecretForm {
  const asked = Buffer.from(was, "base64").toString("latin1");
  const secrets = placed.filter(({ placeholder }) => asked.includes(placeholder));
  const known = [...sent].findIndex((character, index) => character !== was[index]);
  return {
    find: Buffer.from(sent),
    by: () => Buffer.from(was),
    secrets: secrets.map(({ secret }) => secret.name),
    known: Math.max(known, 0),
  };
}

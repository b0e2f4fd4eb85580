import { Transform, type TransformCallback } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type EdgeResponse, type Header, SecretLeak } from "./edge-secrets.js";
import type { Placed } from "./secret.js";
import { type Replacement, Replacer, replaceText, StreamReplace } from "./stream-replace.js";
import type { Echo } from "./substitute.js";
import { echoesOf } from "./value-forms.js";

/** So much of a value may come in when its rest does not follow at once: less than half of the shortest. */
const RELEASE_UP_TO = 3;

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Takes out of an answer what it repeats of the secrets: their placeholders come in instead. */
export function scrubber(method: string, placed: readonly Placed[], echoes: readonly Echo[]): EdgeResponse {
  const replacements = placed.flatMap(({ secret, placeholder }) =>
    echoesOf(secret.reveal()).map((find) => ({ find, by: () => Buffer.from(placeholder) })),
  );
  // The whole of what was put in comes back as the whole that it was.
  const wholes = echoes.map(({ sent, was }) => ({ find: Buffer.from(sent), by: () => Buffer.from(was) }));
  const all: readonly Replacement[] = [...wholes, ...replacements];
  let makeBody = (): Transform => new StreamReplace(all, { releaseUpTo: RELEASE_UP_TO });

  return {
    headers(headers) {
      const scrubbed = headers.map(
        ([name, value]): Header => [replaceText(name, all), replaceText(value, all)],
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
    const decoder = encodings.length === 1 ? DECODERS[encodings[0]!] : undefined;
    if (decoder !== undefined) return new DecodedReplace(decoder(), all);
    const names = placed.map(({ secret }) => secret.name);
    const why = `the answer is compressed in a way that cannot be searched for ${names.join(", ")}`;
    const fail = (done: TransformCallback) => done(new SecretLeak(why, names));
    return new Transform({ transform: (_chunk, _encoding, done) => fail(done), flush: fail });
  }

  /** Frames have their lengths inside. */
  function masked(): Transform {
    const stars = all.map(({ find }) => ({ find, by: () => Buffer.alloc(find.length, "*") }));
    return new StreamReplace(stars, { releaseUpTo: RELEASE_UP_TO });
  }
}

/** What a decoder makes of the bytes, with replacements. It decodes no faster than it is read. */
class DecodedReplace extends Transform {
  readonly #decoder: Transform;
  readonly #replacer: Replacer;
  #isEmpty = true;

  constructor(decoder: Transform, replacements: readonly Replacement[]) {
    super();
    this.#decoder = decoder;
    this.#replacer = new Replacer(replacements);
    decoder.on("data", (bytes: Buffer) => {
      for (const each of this.#replacer.push(bytes)) {
        if (!this.push(each)) decoder.pause();
      }
    });
    decoder.on("error", (error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#isEmpty = false;
    this.#decoder.write(chunk, () => done());
  }

  override _flush(done: TransformCallback): void {
    if (this.#isEmpty) return done();
    this.#decoder.once("end", () => {
      for (const bytes of this.#replacer.end()) this.push(bytes);
      done();
    });
    this.#decoder.end();
  }

  override _read(size: number): void {
    this.#decoder.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#decoder.destroy();
    done(error);
  }
}

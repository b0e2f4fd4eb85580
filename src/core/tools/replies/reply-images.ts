import { IMAGE_TYPES, type ImageType, type ReplyImage } from "./tool-reply.js";

/** Anthropic's API counts a picture's base64, and fails the whole request over one that is larger. */
const MAX_BASE64_CHARACTERS = 5 * 1024 * 1024;
export const MAX_IMAGE_BYTES = (MAX_BASE64_CHARACTERS / 4) * 3;
/** An API takes so many in a conversation; 100 with Anthropic's. */
const MAX_IMAGES = 20;
const SIGNATURES: Readonly<Record<ImageType, Buffer>> = {
  "image/png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  "image/jpeg": Buffer.from([0xff, 0xd8, 0xff]),
};

/** The pictures that any model's API takes, and a line that says what is left out; empty: nothing is. */
export function checkImages(images: readonly ReplyImage[]): {
  readonly taken: readonly ReplyImage[];
  readonly leftOut: string;
} {
  const taken = images.map(checkImage).filter((each) => each !== undefined);
  const missing = images.length - Math.min(taken.length, MAX_IMAGES);
  return {
    taken: taken.slice(0, MAX_IMAGES),
    leftOut: missing === 0 ? "" : `${missing} of ${images.length} pictures are left out: ${RULE}`,
  };
}

const RULE = `at most ${MAX_IMAGES} are shown, PNG and JPEG of at most ${MAX_BASE64_CHARACTERS} bytes in base64.`;

/** A program can call anything a picture, and one that is none fails every later request of the conversation. */
function checkImage({ mimeType, data }: ReplyImage): ReplyImage | undefined {
  // Encoded again: what came may have line breaks and more in it.
  const image = imageOf(Buffer.from(data, "base64"));
  return image?.mimeType === mimeType ? image : undefined;
}

/** The picture that a file's bytes are; undefined: they are none that a model's API takes. */
export function imageOf(bytes: Buffer): ReplyImage | undefined {
  const mimeType = IMAGE_TYPES.find((type) =>
    bytes.subarray(0, SIGNATURES[type].length).equals(SIGNATURES[type]),
  );
  if (mimeType === undefined || bytes.length > MAX_IMAGE_BYTES) return undefined;
  return { mimeType, data: bytes.toString("base64") };
}

/** A picture as APIs take it that ask for an address. */
export function imageUrl({ mimeType, data }: ReplyImage): string {
  return `data:${mimeType};base64,${data}`;
}

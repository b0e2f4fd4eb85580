/** What canonical JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]/g;

/**
 * One text per value: sorted keys, no white space, ASCII only. It is what Python's
 * `json.dumps(value, sort_keys=True, separators=(",", ":"))` prints, so that a chain can be checked without Skerry. All else is
 * escaped: a table of Unicode that is newer than the log must not change the text.
 */
export function canonicalJson(value: Json): string {
  // Nearly always so, and several times as fast.
  if (isSorted(value)) return toAscii(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${toAscii(JSON.stringify(key))}:${canonicalJson(object[key] as Json)}`);
  return `{${members.join(",")}}`;
}

/** True when the text is canonical, but for its last key, which may be any. */
export function isCanonicalButLast(text: string, value: { readonly [key: string]: Json }): boolean {
  let before = "";
  let last: string | undefined;
  for (const key of Object.keys(value)) {
    if (last !== undefined) {
      if (last < before || !isSorted(value[last] as Json)) return false;
      before = last;
    }
    last = key;
  }
  // What was parsed has its keys in the order of the text.
  const json = JSON.stringify(value);
  return json === text || toAscii(json) === text;
}

/** True when all keys are in order already. Throws for what JSON cannot say. */
function isSorted(value: Json): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return true;
    throw new TypeError(`${value} has no form in JSON`);
  }
  if (typeof value !== "object") throw new TypeError(`A value of type ${typeof value} has no form in JSON`);
  if (Array.isArray(value)) {
    // A hole is nothing too.
    for (const each of value) if (!isSorted(each)) return false;
    return true;
  }
  const object = value as { readonly [key: string]: Json };
  let before: string | undefined;
  for (const key of Object.keys(object)) {
    if ((before !== undefined && key < before) || !isSorted(object[key] as Json)) return false;
    before = key;
  }
  return true;
}

function toAscii(json: string): string {
  return json.replace(
    NOT_PRINTABLE_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

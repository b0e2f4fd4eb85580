"use strict";
// Puts what TypeScript prints back on the lines where it was written, by the source map: see typescript-compile.cjs.

delete require.cache[__filename];

const DIGITS = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((digit, value) => [digit, value]));
/** The compiler ends lines with these; the others are those of literals, and stay. */
const PRINTED = /\r\n */g;
const LINE = /\r\n|[\n\u2028\u2029]/g;
/** After a name a new line may end a statement, as in `return`; before these it may as well. */
const NAME_AT_END = /[\p{ID_Continue}$\u200c\u200d]\s*$/u;
const CONTINUES = /^(?:=>|\+\+|--)/;

/** The same code with each part on its line in the source, as far as parts come in the order in which they were written. */
function keepLines(code, map) {
  const starts = [0, ...Array.from(code.matchAll(LINE), ({ 0: end, index }) => index + end.length)];
  const parts = decode(JSON.parse(map).mappings).map(({ line, column, source }) => ({ at: starts[line] + column, source }));
  let kept = "";
  let line = 0;
  let at = 0;
  for (const part of increasing(parts)) {
    const text = code.slice(at, part.at).replace(PRINTED, " ");
    kept += text;
    line += text.match(LINE)?.length ?? 0;
    at = part.at;
    if (part.source <= line || NAME_AT_END.test(kept.slice(-40)) || CONTINUES.test(code.slice(at, at + 2))) continue;
    kept += "\n".repeat(part.source - line);
    line = part.source;
  }
  return kept + code.slice(at).replace(PRINTED, " ");
}

/** Where each part of the output is, and on which line of the source it was. */
function decode(mappings) {
  const parts = [];
  let source = 0;
  mappings.split(";").forEach((text, line) => {
    let column = 0;
    for (const segment of text === "" ? [] : text.split(",")) {
      const [moved, , lines = 0] = numbers(segment);
      column += moved;
      source += lines;
      parts.push({ line, column, source });
    }
  });
  return parts;
}

function numbers(segment) {
  const found = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.get(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    found.push((value & 1) === 0 ? value >>> 1 : -(value >>> 1));
    value = shift = 0;
  }
  return found;
}

/** The longest row of parts whose lines never go back: what was moved is left out. */
function increasing(parts) {
  const ends = [];
  const before = new Array(parts.length);
  parts.forEach(({ source }, index) => {
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (parts[ends[middle]].source <= source) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1] : -1;
    ends[low] = index;
  });
  const row = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index]) row.push(parts[index]);
  return row.reverse();
}

module.exports = { keepLines };

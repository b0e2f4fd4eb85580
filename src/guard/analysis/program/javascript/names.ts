/** The text of an identifier; \u0065val is eval. */
export function identifierOf(source: string): string {
  if (!source.includes("\\")) return source;
  return source.replace(/\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))/g, (whole, braced, plain) => {
    const point = Number.parseInt(braced ?? plain, 16);
    return point > 0x10ffff ? whole : String.fromCodePoint(point);
  });
}

/** "node:fs/promises" is "fs.promises"; a path or a package keeps its name. */
export function moduleNameOf(specifier: string): string {
  const name = specifier.replace(/^node:|\/$/g, "");
  return /^[a-z_0-9]+(?:\/[a-z_0-9]+)*$/.test(name) ? name.replaceAll("/", ".") : name;
}

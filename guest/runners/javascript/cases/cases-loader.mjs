// Lets cases see the names of a solution that is an ES module: adds a line to its source. See cases-call.cjs.

let place;
let more;

export function initialize({ href, hook }) {
  place = href;
  more = hook;
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  return url === place ? { ...loaded, source: `${loaded.source}${more}` } : loaded;
}

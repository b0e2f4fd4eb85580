// Finds the solution for `import` of `./name`: either a source of its own, or the file that it really is. See tests-modules.cjs.

let place;
let source;
let target;

export function initialize(data) {
  ({ place, source, target } = data);
}

export async function resolve(specifier, context, next) {
  if (/^(?:\.{1,2}\/|\/|file:)/.test(specifier) && context.parentURL !== undefined) {
    const { href } = new URL(specifier, context.parentURL);
    if (href === place || href.replace(/\.[cm]?[jt]sx?$/, "") === place) {
      return target === undefined ? { url: `${place}?solution`, format: "module", shortCircuit: true } : next(target, context);
    }
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  return url === `${place}?solution` ? { format: "module", source, shortCircuit: true } : next(url, context);
}

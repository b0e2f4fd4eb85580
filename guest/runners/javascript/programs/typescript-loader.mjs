// Loader hooks for the TypeScript programs that must run as ES modules; see typescript-hooks.cjs.
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { compile } = createRequire(import.meta.url)("./typescript-compile.cjs");
const TYPESCRIPT = /\.[cm]?tsx?$/;

/** Finds `./x` and `./x.js` as `./x.ts`. */
export async function resolve(specifier, context, next) {
  if (/^(?:\.{1,2}\/|\/|file:)/.test(specifier) && TYPESCRIPT.test(context.parentURL ?? "")) {
    const stem = specifier.replace(/\.[cm]?jsx?$/, "");
    for (const candidate of [specifier, `${stem}.ts`, `${stem}.tsx`, `${stem}.mts`, `${stem}/index.ts`]) {
      const url = new URL(candidate, context.parentURL);
      if (statSync(url, { throwIfNoEntry: false })?.isFile()) return { url: url.href, shortCircuit: true };
    }
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (url.startsWith("file:") && TYPESCRIPT.test(new URL(url).pathname)) {
    const file = fileURLToPath(url);
    return { format: "module", source: compile(readFileSync(file, "utf8"), file, { module: "esm" }).code, shortCircuit: true };
  }
  if (url.startsWith("file:") && url.endsWith(".json")) {
    return { format: "module", source: `export default ${readFileSync(fileURLToPath(url), "utf8")};`, shortCircuit: true };
  }
  return next(url, context);
}

// Writes sucrase and what it needs as one CommonJS file: `node bundle-sucrase.mjs <directory>`.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import process from "node:process";

// Only source maps need it, and we never ask for one: sucrase keeps every line where it was.
const LEFT_OUT = new Set(["@jridgewell/gen-mapping"]);

const directory = process.argv[2];
if (!directory) throw new Error("usage: node bundle-sucrase.mjs <directory>");

const entry = createRequire(import.meta.url).resolve("sucrase");
const modules = new Map();
collect(entry);

const root = entry.slice(0, entry.lastIndexOf(`${sep}node_modules${sep}`));
const table = [...modules].map(
  ([file, { id, source, links }]) =>
    `/* ${relative(root, file)} */\n[function (module, exports, require) {${source}\n}, ${JSON.stringify(links)}]${id === modules.size - 1 ? "" : ","}\n`,
);
const loader = `"use strict";
const cache = [];
function load(id) {
  if (cache[id]) return cache[id].exports;
  const module = (cache[id] = { exports: {} });
  const [run, links] = table[id];
  run(module, module.exports, (name) => (name in links ? load(links[name]) : {}));
  return module.exports;
}
const table = [
${table.join("")}];
module.exports = load(0);
`;
mkdirSync(directory, { recursive: true });
writeFileSync(join(directory, "sucrase.cjs"), `${licences()}\n${loader}`);

/** Adds a file and, depth first, every file it requires. */
function collect(file) {
  if (modules.has(file)) return modules.get(file).id;
  const source = readFileSync(file, "utf8");
  const module = { id: modules.size, source, links: {} };
  modules.set(file, module);
  const require = createRequire(file);
  for (const [, name] of source.matchAll(/\brequire\(\s*["']([^"']+)["']\s*\)/g)) {
    if (LEFT_OUT.has(name) || name in module.links) continue;
    let target;
    try {
      target = require.resolve(name);
    } catch {
      continue; // named in a comment or in code that sucrase generates
    }
    if (target.startsWith(sep)) module.links[name] = collect(target);
  }
  return module.id;
}

/** The licence texts of everything bundled, which their terms ask to travel along. */
function licences() {
  const packages = new Set();
  for (const file of modules.keys()) {
    let folder = dirname(file);
    while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
    packages.add(folder);
  }
  const texts = [...packages].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const licence = ["LICENSE", "LICENSE.md", "LICENCE"].map((file) => join(folder, file)).find(existsSync);
    return `${name} ${version}\n\n${licence ? readFileSync(licence, "utf8").trim() : "MIT"}`;
  });
  return `/*\n${texts.join("\n\n----\n\n").replaceAll("*/", "* /")}\n*/`;
}

import fs, { readFileSync } from "node:fs";
import { value, default as d } from "./lib.mjs";
import cjs, { named } from "./c.cjs";
import { createRequire } from "node:module";
console.log(value, d, cjs, named, readFileSync === fs.readFileSync, import.meta.url.endsWith("/main.mjs"), typeof require, this);
console.log(createRequire(import.meta.url)("./c.cjs").named, (await import("./lib.mjs")).value, import.meta.resolve("./x").endsWith("/x"));

import { a } from "./a.js";
console.log(a, typeof module, import.meta.filename ?? "no filename" ? "ok" : "");

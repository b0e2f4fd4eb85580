import { v } from "./m";
console.log(v, typeof import.meta.url);

import { nothing } from "node:fs";
console.log("never");

import fs from "fs";
import { name as special } from "@lib/special";
import { greet } from "@lib/greet.js";
import * as direct from "src/config";
import whole from "@lib/index";

console.log(typeof fs.readFileSync, special, greet(), direct.name, whole.deep);
console.log((await import("@lib/greet")).greet(), require.resolve("config").endsWith("config.ts"));
try {
  require("@lib/nothing");
} catch (error) {
  console.log((error as NodeJS.ErrnoException).code, (error as Error).message.split("\n")[0]);
}

import greet from "esm-only";
import { local } from "./local";
const text: string = await greet("ts");
console.log(text, local);

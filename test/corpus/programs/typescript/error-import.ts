import { x } from "./missing";
console.log(x);

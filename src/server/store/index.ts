export { openStore } from "./open-store.js";
export type * from "./store.js";

export type { ApiKeys } from "./api-keys.js";
export { openStore, type Store } from "./open-store.js";
export type * from "./records.js";

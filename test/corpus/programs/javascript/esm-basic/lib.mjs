export const value = "esm";
export default class K {}

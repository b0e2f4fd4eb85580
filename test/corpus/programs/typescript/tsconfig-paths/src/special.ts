export const name = "special";

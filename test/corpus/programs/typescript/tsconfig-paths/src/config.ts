export const name = "config";

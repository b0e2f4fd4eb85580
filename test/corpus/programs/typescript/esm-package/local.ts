export const local: string = "local ts";

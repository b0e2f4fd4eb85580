export const viaJs = "js means ts";

export const a = await Promise.resolve("tla in dep");

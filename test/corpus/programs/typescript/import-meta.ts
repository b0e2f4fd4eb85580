console.log(import.meta.url.startsWith("file://"), import.meta.url.endsWith("/main.ts"), typeof __filename);

Error.prepareStackTrace = (e, frames) => frames.map((f) => `${f.getFunctionName()}@${(f.getFileName() || "").split("/").pop()}`).join("\n");
console.log(new Error("x").stack);

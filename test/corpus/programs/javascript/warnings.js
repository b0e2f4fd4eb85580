process.emitWarning("careful", "CustomWarning", "C1");
new Buffer(1);
process.on("warning", (w) => console.log("event", w.name));

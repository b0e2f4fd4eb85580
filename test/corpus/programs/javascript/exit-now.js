process.on("exit", (c) => { console.log("handler", c); process.exitCode = 9; });
setTimeout(() => console.log("never"), 1000);
process.exit(5);

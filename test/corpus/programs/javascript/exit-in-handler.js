process.on("exit", () => process.exit(7));
console.log("bye");

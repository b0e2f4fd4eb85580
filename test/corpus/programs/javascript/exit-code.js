process.exitCode = 3;
process.on("exit", (c) => console.log("exit", c));
process.on("beforeExit", () => console.log("beforeExit"));

process.on("exit", () => { throw new Error("in exit"); });

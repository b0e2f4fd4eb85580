const rl = require("readline").createInterface({ input: process.stdin });
rl.on("line", (l) => console.log("line", JSON.stringify(l)));
rl.on("close", () => console.log("closed"));

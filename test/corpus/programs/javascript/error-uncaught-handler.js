process.on("uncaughtException", (e, origin) => { console.log("caught", e.message, origin); });
setTimeout(() => console.log("still alive"), 10);
throw new Error("first");

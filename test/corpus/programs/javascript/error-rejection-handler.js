process.on("unhandledRejection", (r, p) => { console.log("handler", r, p instanceof Promise); process.exitCode = 4; });
Promise.reject("why");

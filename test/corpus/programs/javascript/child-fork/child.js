process.on("message", (m) => { process.send({ echo: m, argv: process.argv.slice(2), execArgv: process.execArgv }); process.disconnect(); });

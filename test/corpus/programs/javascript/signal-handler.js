process.on("SIGTERM", (s, n) => { console.log("got", s, n); process.exit(0); });
setTimeout(() => process.kill(process.pid, "SIGTERM"), 5);
setTimeout(() => {}, 2000);

process.kill(process.pid, "SIGINT");
setTimeout(() => {}, 1000);

console.log("about");
process.kill(process.pid, "SIGABRT");
setTimeout(() => {}, 1000);

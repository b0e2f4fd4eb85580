setTimeout(() => console.log("timeout"), 0);
setImmediate(() => console.log("immediate"));
process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("micro"));
queueMicrotask(() => console.log("queued"));
console.log("sync");
setTimeout(() => { const i = setInterval(() => { console.log("interval"); clearInterval(i); }, 1); }, 20);

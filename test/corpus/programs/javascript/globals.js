console.log(Object.getOwnPropertyNames(globalThis).sort().join());
console.log(Object.keys(process).sort().join());
console.log(process.listenerCount("exit"), process.eventNames(), process._getActiveHandles().length, process.getActiveResourcesInfo());

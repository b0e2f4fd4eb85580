const { AsyncLocalStorage, executionAsyncId, createHook } = require("async_hooks");
const als = new AsyncLocalStorage();
als.run("ctx", () => setTimeout(() => console.log(als.getStore()), 1));
console.log(executionAsyncId(), typeof createHook);

const { performance, PerformanceObserver } = require("perf_hooks");
console.log(performance.now() > 0, performance.timeOrigin > 0, typeof performance.nodeTiming.bootstrapComplete);
const e = new EventTarget(); e.addEventListener("x", (v) => console.log(v.type)); e.dispatchEvent(new Event("x"));
console.log(structuredClone({ a: new Date(0) }), new URL("http://a/b?c=d").searchParams.get("c"), atob("aGk="), new AbortController().signal.aborted);

Error.stackTraceLimit = 50;
console.log(new Error("x").stack);
function a() { return b(); }
function b() { return new Error("nested").stack; }
console.log(a());
console.trace("here");

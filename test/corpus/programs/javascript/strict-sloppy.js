x = 5;
console.log(x, globalThis.x, (function () { return this === globalThis; })(), typeof exports);
with ({ y: 1 }) console.log(y);

async function f() { throw new RangeError("async"); }
f();

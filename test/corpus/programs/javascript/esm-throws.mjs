function f() { throw new Error("esm error"); }
f();

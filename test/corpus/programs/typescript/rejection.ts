async function f(): Promise<void> { throw new RangeError("lost"); }
void f();

class A { x?: number; constructor() { console.log("x" in this); } }
new A();

const vm = require("vm");
console.log(vm.runInNewContext("x + 1", { x: 1 }), eval("1 + 1"), new Function("a", "return a")(3));
try { vm.runInThisContext("throw new Error('in vm')", "named.js"); } catch (e) { console.log(e.stack.split("\n")[1]); }

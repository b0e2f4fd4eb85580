const Module = require("module");
console.log(Object.getOwnPropertyDescriptor(Module, "runMain"), Object.keys(Module._extensions), Module.builtinModules.length > 50);

console.log(require.main === module, module.id, module.parent, module.children.length, module.loaded, module.paths[0] === __dirname + "/node_modules", process.mainModule === module);
console.log(Object.keys(require.cache).map((f) => f === __filename), this === exports, typeof require.resolve, __filename.endsWith("/main.js"), arguments.length);
console.log(Object.keys(module), require("module")._cache === require.cache);

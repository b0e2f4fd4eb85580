console.log(require("from-node-path"), require("module").globalPaths.length);

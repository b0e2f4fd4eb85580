const fs: typeof import("fs") = require("fs");
console.log(require.main === module, typeof fs.existsSync, process.argv.slice(2));
module.exports = {};

const fs = require("fs");
console.log(JSON.stringify(fs.readFileSync(0, "utf8")));

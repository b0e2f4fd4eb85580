console.log(require("./a"));

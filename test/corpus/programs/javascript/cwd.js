const path = require("path");
console.log(process.cwd() === __dirname, path.resolve("x") === path.join(__dirname, "x"), require("fs").readdirSync("."));

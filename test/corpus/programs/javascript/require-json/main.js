const data = require("./data.json");
console.log(data, require("./data") === data, require.resolve("./lib").endsWith("lib/index.js"), require("./lib"));
try { require("./bad.json"); } catch (e) { console.log(e.name, e.message.replace(__dirname, "")); }

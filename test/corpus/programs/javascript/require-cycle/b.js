exports.seen = require("./a").early;

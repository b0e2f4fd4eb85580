exports.early = 1;
exports.b = require("./b");

exports.name = require("path").basename(module.parent.filename);

const c = require("crypto");
console.log(c.createHash("sha256").update("x").digest("hex"), c.randomUUID().length, new Set([Math.random(), Math.random()]).size, c.getRandomValues(new Uint8Array(4)).length);

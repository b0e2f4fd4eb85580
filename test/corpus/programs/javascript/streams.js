const { pipeline, Readable, Transform } = require("stream");
const zlib = require("zlib");
pipeline(Readable.from(["a", "b"]), new Transform({ transform(c, e, cb) { cb(null, c.toString().toUpperCase()); } }), process.stdout, (e) => { if (e) throw e; });
console.log(zlib.gunzipSync(zlib.gzipSync("zipped")).toString());

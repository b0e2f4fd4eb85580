console.log(process.stdout.constructor.name, process.stdout.isTTY, process.stdout.fd, process.stdout._type, process.stdout.writable, process.stderr.constructor.name, process.stdout.columns);
console.error("to stderr");
require("fs").writeSync(1, "direct\n");

console.log(Object.keys(process.env).sort(), process.env.GREETING, "MISSING" in process.env, process.env.EMPTY === "");
process.env.NEW = 1;
console.log(process.env.NEW === "1", require("child_process").execSync("echo $GREETING $NEW").toString());
delete process.env.NEW;
console.log(process.env.NEW);

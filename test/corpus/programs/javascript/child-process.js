const { execFileSync, spawn, spawnSync, fork } = require("child_process");
console.log(execFileSync(process.execPath, ["-p", "process.argv.length + ' ' + process.execArgv"]).toString().trim());
const r = spawnSync("sh", ["-c", "echo out; echo err >&2; exit 3"]);
console.log(r.status, r.stdout.toString(), r.stderr.toString());
const c = spawn("cat", { stdio: ["pipe", "inherit", "inherit"] });
c.stdin.end("through cat\n");
c.on("close", (code, sig) => console.log("closed", code, sig));
console.log(spawnSync("sh", ["-c", "ls /proc/self/fd | wc -l"]).stdout.toString());

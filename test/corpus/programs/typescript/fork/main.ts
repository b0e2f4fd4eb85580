import { fork, spawn } from "node:child_process";
enum Role { Parent, Child }
if (process.argv[2] === "child") {
  process.send!({ role: Role[Role.Child], line: new Error().stack!.split("\n")[1]!.replace(/.*main\.ts:(\d+):.*/, "$1") });
  process.disconnect();
} else {
  const child = fork(__filename, ["child"]);
  child.on("message", (message) => console.log(Role[Role.Parent], JSON.stringify(message)));
  child.on("exit", (code) => {
    console.log("exit", code);
    spawn(process.execPath, [...process.execArgv, `${__dirname}/other.ts`], { stdio: "inherit" });
  });
}

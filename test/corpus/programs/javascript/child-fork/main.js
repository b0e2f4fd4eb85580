const { fork } = require("child_process");
const c = fork("./child.js", ["x"]);
c.on("message", (m) => console.log("parent got", m));
c.send({ hi: 1 });
c.on("exit", (code) => console.log("child exit", code));

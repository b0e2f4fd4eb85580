process.stdin.setEncoding("utf8");
process.stdin.on("data", (d) => console.log("data", d.trim())).on("end", () => console.log("end"));

import("./m.mjs").then((m) => console.log(m.default, typeof require));
import("node:os").then((os) => console.log(typeof os.cpus));

/** What Node programs that do several things at once do: workers, children, a server at this address, files. */
export const PARALLEL_NODE = `
const { Worker } = require("worker_threads");
const { execFileSync, fork } = require("child_process");
const { once } = require("events");
const fs = require("fs"), http = require("http"), zlib = require("zlib"), crypto = require("crypto");
async function forEachParallel(address) {
  const workers = [1, 2, 3, 4].map((n) => new Worker("require('worker_threads').parentPort.postMessage(" + n + ")", { eval: true }));
  console.log((await Promise.all(workers.map((w) => once(w, "message")))).join());
  console.log(execFileSync("echo", ["child"], { encoding: "utf8" }).trim());
  fs.writeFileSync("forked.js", "process.send('forked')");
  console.log((await once(fork("forked.js"), "message"))[0]);
  const server = http.createServer((q, r) => r.end("http")).listen(0, address);
  await once(server, "listening");
  console.log(await (await fetch("http://" + address + ":" + server.address().port)).text());
  server.closeAllConnections(); server.close();
  fs.watch(".").close();
  await fs.promises.writeFile("f", await new Promise((done) => zlib.gzip("x", (_, b) => done(b))));
  await fs.promises.cp("f", "g"); fs.rmSync("g");
  await new Promise((done) => crypto.scrypt("a", "b", 16, done));
}
`;

/** What `forEachParallel` prints. */
export const PARALLEL_NODE_OUTPUT = "1,2,3,4\nchild\nforked\nhttp\n";

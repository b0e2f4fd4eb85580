const http = require("http");
const s = http.createServer((q, r) => r.end("served " + q.url)).listen(0, "127.0.0.1", async () => {
  const r = await fetch(`http://127.0.0.1:${s.address().port}/x`);
  console.log(r.status, await r.text());
  s.close(); s.closeAllConnections();
});

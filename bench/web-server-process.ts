import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A web server in a process of its own: `/bytes/N` sends N bytes, anything else a short answer. Prints its port. */
const PIECE = Buffer.alloc(256 * 1024);

const server = createServer((request, response) => {
  const size = Number(/^\/bytes\/(\d+)$/.exec(request.url ?? "")?.[1] ?? 0);
  if (size === 0) {
    response.end("hello\n");
    return;
  }
  response.writeHead(200, { "content-length": size });
  let left = size;
  const send = () => {
    while (left > 0) {
      const piece = PIECE.subarray(0, Math.min(left, PIECE.length));
      left -= piece.length;
      if (!response.write(piece)) {
        response.once("drain", send);
        return;
      }
    }
    response.end();
  };
  send();
});
server.listen(0, process.argv[2], () => console.log((server.address() as AddressInfo).port));
process.stdin.once("end", () => process.exit(0)).resume();

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** A registry on this machine with one image of one file. Daemons trust it without certificates. */
export interface ImageRegistry {
  /** As in `docker pull`. */
  readonly image: string;
  /** From now on it gives the manifest, breaks off in the middle of what that names, and is gone. */
  goAway(): void;
  close(): void;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG = "application/vnd.docker.container.image.v1+json";
const LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip";

export async function openImageRegistry(content: Buffer): Promise<ImageRegistry> {
  const tar = tarOf("file", content);
  const layer = gzipSync(tar);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: {},
      rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
    }),
  );
  const describe = (mediaType: string, bytes: Buffer) => ({
    mediaType,
    size: bytes.length,
    digest: digestOf(bytes),
  });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: describe(CONFIG, config),
      layers: [describe(LAYER, layer)],
    }),
  );
  let isAway = false;
  const server = createServer(({ url = "", method }, response) => {
    const send = (type: string, bytes: Buffer) => {
      response.writeHead(200, {
        "content-type": type,
        "content-length": bytes.length,
        "docker-content-digest": digestOf(bytes),
      });
      if (method === "HEAD") response.end();
      else if (isAway && bytes !== manifest) breakOff(response, bytes);
      else response.end(bytes);
    };
    if (url === "/v2/") response.end("{}");
    else if (/\/manifests\/(?:1|sha256:)/.test(url)) send(MANIFEST, manifest);
    else if (url.endsWith(digestOf(config))) send("application/octet-stream", config);
    else if (url.endsWith(digestOf(layer))) send("application/octet-stream", layer);
    else {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    }
  });
  function breakOff(response: ServerResponse, bytes: Buffer): void {
    response.write(bytes.subarray(0, bytes.length / 2), () => {
      server.close();
      server.closeAllConnections();
    });
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    image: `127.0.0.1:${(server.address() as AddressInfo).port}/base:1`,
    goAway: () => {
      isAway = true;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`;
  header.write(name, 0);
  header.write(
    `${octal(0o644, 8)}${octal(0, 8)}${octal(0, 8)}${octal(content.length, 12)}${octal(0, 12)}`,
    100,
  );
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  header.write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
  );
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding, Buffer.alloc(1024)]);
}

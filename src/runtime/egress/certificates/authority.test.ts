import { execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text as streamText } from "node:stream/consumers";
import { connect, TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { CertificateAuthority, openAuthority } from "./authority.js";
import { createCaBundle } from "./ca-bundle.js";
import { createRootCertificate } from "./certificate.js";

let stateDir: string;
beforeEach(() => {
  stateDir = temporaryDirectory();
});

const inEgress = (name: string) => join(stateDir, "egress", name);

/** Speaks TLS for a moment, and tells what the client was shown. */
async function shake(authority: CertificateAuthority, host: string, ca: string): Promise<X509Certificate> {
  const secureContext = await authority.secureContext(host);
  const server = createServer((socket) => {
    new TLSSocket(socket, { isServer: true, secureContext }).on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const isName = /[a-z]/.test(host) && !host.includes(":");
  const context = isName ? { servername: host } : { servername: "" };
  const client = connect({
    port,
    host: "127.0.0.1",
    ca,
    ...context,
    checkServerIdentity: (_, { raw }) => {
      const certificate = new X509Certificate(raw);
      const fits = isName ? certificate.checkHost(host) : certificate.checkIP(host);
      return fits === undefined ? new Error("another host's certificate") : undefined;
    },
  });
  try {
    await once(client, "secureConnect");
    return new X509Certificate(client.getPeerCertificate().raw);
  } finally {
    client.destroy();
    server.close();
  }
}

describe("the authority of an installation", () => {
  it("is made once, with a key that only its owner can read", async () => {
    const [one, other] = [await openAuthority(stateDir), await openAuthority(stateDir)];
    expect(other.certificate).toBe(one.certificate);
    expect(readFileSync(inEgress("ca.pem"), "utf8")).toBe(one.certificate);
    expect(readdirSync(join(stateDir, "egress")).sort()).toEqual(["ca.key", "ca.pem"]);
    const mode = (name: string) => statSync(inEgress(name)).mode & 0o777;
    expect([mode("."), mode("ca.key"), mode("ca.pem")]).toEqual([0o700, 0o600, 0o644]);
  });

  it("signs certificates of servers only, for ten years", async () => {
    const { certificate } = await openAuthority(stateDir);
    const root = new X509Certificate(certificate);
    expect(root.subject).toMatch(/^CN=Skerry egress CA [0-9a-f]{8}$/);
    expect(root.verify(root.publicKey)).toBe(true);
    const years = (Date.parse(root.validTo) - Date.now()) / (365 * 86_400_000);
    expect(Math.abs(years - 10)).toBeLessThan(0.1);
    const text = execFileSync("openssl", ["x509", "-in", inEgress("ca.pem"), "-noout", "-text"], {
      encoding: "utf8",
    });
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign/);
  });

  it("is one and the same for processes that make it at the same time", async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => openAuthority(stateDir)));
    expect(new Set(made.map(({ certificate }) => certificate)).size).toBe(1);
    expect(readdirSync(join(stateDir, "egress")).sort()).toEqual(["ca.key", "ca.pem"]);
  });

  it("is one and the same for real processes, some of which are killed in the midst of it", async () => {
    const program = join(stateDir, "open.cjs");
    const source = fileURLToPath(new URL("authority.ts", import.meta.url));
    await build({
      stdin: {
        contents: `import { openAuthority } from ${JSON.stringify(source)};
          openAuthority(process.argv[2]).then(({ certificate }) => process.stdout.write(certificate));`,
        resolveDir: stateDir,
      },
      ...{ outfile: program, bundle: true, format: "cjs", platform: "node", logLevel: "error" },
    });
    for (let round = 0; round < 3; round++) {
      rmSync(join(stateDir, "egress"), { recursive: true, force: true });
      const children = Array.from({ length: 6 }, (_, index) => {
        const child = spawn(process.execPath, [program, stateDir], { stdio: ["ignore", "pipe", "inherit"] });
        if (index < 2) setTimeout(() => child.kill("SIGKILL"), 150 + 60 * round + 30 * index);
        return child;
      });
      const texts = await Promise.all(children.map(({ stdout }) => streamText(stdout!)));
      const { certificate } = await openAuthority(stateDir);
      expect(new Set(texts.filter((text) => text !== ""))).toEqual(new Set([certificate]));
      expect(texts.slice(2)).not.toContain("");
    }
  });

  it("is made although a process was killed while it did so", async () => {
    mkdirSync(join(stateDir, "egress"), { mode: 0o700 });
    writeFileSync(inEgress("ca.key.0123456789abcdef"), "-----BEGIN PRI", { mode: 0o600 });
    await openAuthority(stateDir);
    expect(readdirSync(join(stateDir, "egress")).sort()).toEqual(["ca.key", "ca.pem"]);
  });

  it("mends the copy of its certificate", async () => {
    const { certificate } = await openAuthority(stateDir);
    writeFileSync(inEgress("ca.pem"), "something else");
    await openAuthority(stateDir);
    expect(readFileSync(inEgress("ca.pem"), "utf8")).toBe(certificate);
  });

  it.each<[string, () => void, string]>([
    [
      "a key that others can read",
      () => chmodSync(inEgress("ca.key"), 0o640),
      "can be read or changed by others",
    ],
    ["a directory that others can read", () => chmodSync(inEgress("."), 0o755), "is not this user's alone"],
    [
      "a link to a key",
      () => {
        renameSync(inEgress("ca.key"), join(stateDir, "elsewhere"));
        symlinkSync(join(stateDir, "elsewhere"), inEgress("ca.key"));
      },
      "is a link",
    ],
    [
      "a directory for a key",
      () => {
        rmSync(inEgress("ca.key"));
        mkdirSync(inEgress("ca.key"), { mode: 0o700 });
      },
      "is not a file",
    ],
    [
      "half a key",
      () => writeFileSync(inEgress("ca.key"), readFileSync(inEgress("ca.key"), "utf8").slice(0, 60)),
      "cannot be read",
    ],
    [
      "a certificate of another key",
      () => {
        const pem = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
          format: "pem",
          type: "pkcs8",
        });
        writeFileSync(inEgress("ca.key"), `${pem}${readFileSync(inEgress("ca.pem"), "utf8")}`);
      },
      "does not fit together",
    ],
    [
      "an expired certificate",
      () => {
        const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
        const certificate = createRootCertificate("old", key, {
          from: new Date(0),
          until: new Date(Date.now() - 1000),
        });
        writeFileSync(inEgress("ca.key"), `${key.export({ format: "pem", type: "pkcs8" })}${certificate}`);
      },
      "has expired",
    ],
  ])("is refused with %s", async (_, spoil, message) => {
    await openAuthority(stateDir);
    spoil();
    await expect(openAuthority(stateDir)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it.skipIf(process.getuid?.() !== 0)("is refused with a key of another user", async () => {
    await openAuthority(stateDir);
    execFileSync("chown", ["65534", inEgress("ca.key")]);
    await expect(openAuthority(stateDir)).rejects.toThrow("can be read or changed by others");
  });
});

describe("a certificate for a host", () => {
  it.each([
    "api.example.com",
    `${"a".repeat(60)}.${"b".repeat(60)}.example`,
    "xn--bcher-kva.example",
    "127.0.0.1",
    "2001:db8::1",
  ])("%s is trusted with the bundle, and not without it", async (host) => {
    const authority = await openAuthority(stateDir);
    const leaf = await shake(authority, host, createCaBundle(authority.certificate));
    expect(leaf.ca).toBe(false);
    expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)).toBeLessThan(7 * 86_400_000);
    await expect(shake(authority, host, createCaBundle(""))).rejects.toThrow("self-signed certificate");
  });

  it("passes the strictest check of OpenSSL", async () => {
    const authority = await openAuthority(stateDir);
    const leaf = await shake(authority, "api.example.com", authority.certificate);
    const path = join(stateDir, "leaf.pem");
    writeFileSync(path, leaf.toString());
    const args = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "api.example.com"];
    const out = execFileSync("openssl", [...args, "-CAfile", inEgress("ca.pem"), path], { encoding: "utf8" });
    expect(out).toBe(`${path}: OK\n`);
  });

  it("is kept while it is good, and renewed in time", async () => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    let now = Date.now();
    const root = createRootCertificate("test", key, { from: new Date(0), until: new Date(now * 2) });
    const authority = new CertificateAuthority(root, key, () => now);
    const [first, atOnce] = await Promise.all([
      authority.secureContext("a.example"),
      authority.secureContext("a.example"),
    ]);
    expect(atOnce).toBe(first);
    now += 12 * 3_600_000;
    expect(await authority.secureContext("a.example")).toBe(first);
    now += 13 * 3_600_000;
    expect(await authority.secureContext("a.example")).not.toBe(first);
  });

  it("is forgotten when many others are used", async () => {
    const authority = await openAuthority(stateDir);
    const first = await authority.secureContext("a.example");
    const kept = await authority.secureContext("kept.example");
    for (let count = 0; count < 256; count++) {
      await authority.secureContext(`h${count}.example`);
      if (count === 100) await authority.secureContext("kept.example");
    }
    expect(await authority.secureContext("kept.example")).toBe(kept);
    expect(await authority.secureContext("a.example")).not.toBe(first);
  });
});

describe("the bundle", () => {
  it("is the system's, or Node's where the system has none, and the authority's", () => {
    const path = join(stateDir, "bundle.pem");
    writeFileSync(path, "# theirs\n-----BEGIN CERTIFICATE-----\n…\n\n");
    writeFileSync(join(stateDir, "empty"), "");
    const places = [join(stateDir, "none"), stateDir, join(stateDir, "empty"), path];
    expect(createCaBundle("ours\n", places)).toBe("# theirs\n-----BEGIN CERTIFICATE-----\n…\nours\n");
    const fallback = createCaBundle("ours\n", []);
    expect(fallback.match(/BEGIN CERTIFICATE/g)!.length).toBeGreaterThan(50);
    expect(fallback).toMatch(/-----END CERTIFICATE-----\nours\n$/);
  });
});

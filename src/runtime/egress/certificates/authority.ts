import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { writeFileAtomic, writeNewFile } from "../../../kit/atomic-write.js";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { ensureStateDirectory } from "../../../kit/state-directory.js";
import { syncFile } from "../../../kit/sync-file.js";
import type { createIssuer } from "./certificate.js";

const DAY_MS = 86_400_000;
const ROOT_DAYS = 3650;
/** Before and after now: a sandbox's clock may be wrong by that much, and a leaf is used for half of it. */
const LEAF_DAYS = 2;
const MAX_LEAVES = 256;
/** A key and a certificate are far smaller. */
const MAX_FILE_BYTES = 64 * 1024;

interface Leaf {
  readonly context: SecureContext;
  readonly renewAt: number;
}

interface Issuer {
  /** In PEM: one for all leaves, since they all are ours. */
  readonly key: string;
  readonly certificateFor: ReturnType<typeof createIssuer>;
}

/** The certificate authority of this installation: sandboxes trust it, and nothing else does. */
export class CertificateAuthority {
  /** In PEM, for the bundle that programs inside trust. */
  readonly certificate: string;
  readonly #key: KeyObject;
  readonly #now: () => number;
  /** Oldest use first. */
  readonly #leaves = new Map<string, Promise<Leaf>>();
  #issuer: Promise<Issuer> | undefined;

  constructor(certificate: string, key: KeyObject, now: () => number = Date.now) {
    this.certificate = certificate;
    this.#key = key;
    this.#now = now;
  }

  /** What a TLS client is shown that believes to speak with this host: a name or an address, canonical. */
  async secureContext(host: string): Promise<SecureContext> {
    const known = this.#leaves.get(host);
    const isFresh = known !== undefined && this.#now() < (await known).renewAt;
    const leaf = isFresh ? known : this.#issue(host);
    this.#leaves.delete(host);
    this.#leaves.set(host, leaf);
    leaf.catch(() => this.#leaves.delete(host));
    for (const oldest of this.#leaves.keys()) {
      if (this.#leaves.size <= MAX_LEAVES) break;
      this.#leaves.delete(oldest);
    }
    return (await leaf).context;
  }

  async #issue(host: string): Promise<Leaf> {
    this.#issuer ??= this.#createIssuer();
    const { key, certificateFor } = await this.#issuer;
    const now = this.#now();
    const cert = certificateFor(host, {
      from: new Date(now - LEAF_DAYS * DAY_MS),
      until: new Date(now + LEAF_DAYS * DAY_MS),
    });
    // With a list of its own: filling in the system's takes longer than all the rest.
    const context = createSecureContext({ key, cert, ca: this.certificate, minVersion: "TLSv1.2" });
    return { context, renewAt: now + (LEAF_DAYS * DAY_MS) / 2 };
  }

  /** Loaded by the first host: most sandboxes have no secrets. */
  async #createIssuer(): Promise<Issuer> {
    const { createIssuer } = await import("./certificate.js");
    const leafKey = newKey();
    const root = { certificate: new X509Certificate(this.certificate).raw, key: this.#key };
    return {
      key: leafKey.export({ format: "pem", type: "pkcs8" }).toString(),
      certificateFor: createIssuer(root, leafKey),
    };
  }
}

/**
 * The authority kept in a state directory, made when there is none. `ca.key` holds the key and the certificate, so that
 * they come into being at once; `ca.pem` is a copy of the certificate for people.
 */
export async function openAuthority(stateDir: string): Promise<CertificateAuthority> {
  ensureStateDirectory(stateDir);
  const directory = join(stateDir, "egress");
  makePrivateDirectory(directory);
  const path = join(directory, "ca.key");
  const text = readPrivate(path) ?? (await create(directory, path));
  const authority = readAuthority(text);
  publish(directory, authority.certificate);
  return authority;
}

async function create(directory: string, path: string): Promise<string> {
  const { createRootCertificate } = await import("./certificate.js");
  const key = newKey();
  const now = Date.now();
  const certificate = createRootCertificate(`Skerry egress CA ${randomBytes(4).toString("hex")}`, key, {
    from: new Date(now - DAY_MS),
    until: new Date(now + ROOT_DAYS * DAY_MS),
  });
  const unfinished = `${path}.${randomBytes(8).toString("hex")}`;
  writeNewFile(unfinished, `${key.export({ format: "pem", type: "pkcs8" })}${certificate}`);
  try {
    // Unlike a rename, a link does not replace what another process made in the meantime.
    linkSync(unfinished, path);
  } catch (error) {
    // ENOENT: that process has already removed what it took for a leftover.
    if (!["EEXIST", "ENOENT"].includes(systemCode(error) ?? "")) throw error;
  }
  for (const name of readdirSync(directory)) {
    if (name.startsWith("ca.key.")) rmSync(join(directory, name), { force: true });
  }
  await syncFile(directory);
  const text = readPrivate(path);
  if (text === undefined) throw damaged("is gone");
  return text;
}

function readAuthority(text: string): CertificateAuthority {
  let key: KeyObject;
  let certificate: X509Certificate;
  try {
    key = createPrivateKey(text);
    certificate = new X509Certificate(text.slice(text.indexOf("-----BEGIN CERTIFICATE-----")));
  } catch {
    // Without the cause: it may quote what it could not read.
    throw damaged("cannot be read");
  }
  if (!certificate.ca || !createPublicKey(key).equals(certificate.publicKey)) {
    throw damaged("does not fit together");
  }
  if (Date.parse(certificate.validTo) < Date.now() + LEAF_DAYS * DAY_MS) throw damaged("has expired");
  return new CertificateAuthority(certificate.toString(), key);
}

function publish(directory: string, certificate: string): void {
  const path = join(directory, "ca.pem");
  try {
    if (readFileSync(path, "utf8") === certificate) return;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  writeFileAtomic(path, certificate, { mode: 0o644 });
}

function makePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  const stat = lstatSync(path);
  if (stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0) return;
  throw new SandboxError("CONFIG_INVALID", "The directory of the egress CA is not this user's alone", {
    hint: "Remove the directory egress below the state directory, or give it mode 0700 and this user as owner.",
  });
}

/** The text of a file that only its owner can read or change; undefined: there is none. */
function readPrivate(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw damaged(systemCode(error) === "ELOOP" ? "is a link" : "cannot be opened");
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) throw damaged("is not a file that Skerry wrote");
    if (stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
      throw damaged("can be read or changed by others");
    }
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

function damaged(what: string): SandboxError {
  return new SandboxError("CONFIG_INVALID", `The key of the egress CA ${what}`, {
    hint: "Remove egress/ca.key below the state directory: a new one is made, and running sandboxes keep the old one.",
  });
}

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

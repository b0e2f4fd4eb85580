import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";

export interface ValidFor {
  readonly from: Date;
  readonly until: Date;
}

/** A certificate in PEM that signs itself and may sign those of servers, and nothing below them. */
export function createRootCertificate(name: string, key: KeyObject, { from, until }: ValidFor): string {
  const subject = commonName(name);
  const publicKey = publicKeyOf(key);
  return signed(key, {
    issuer: subject,
    subject,
    validity: new Validity({ notBefore: from, notAfter: until }),
    subjectPublicKeyInfo: publicKey,
    extensions: new Extensions([
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
      extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(identifierOf(publicKey))),
    ]),
  });
}

/** A function that makes certificates in PEM for servers which have this key, each for a name or an address. */
export function createIssuer(
  root: { readonly certificate: Uint8Array; readonly key: KeyObject },
  key: KeyObject,
): (host: string, valid: ValidFor) => string {
  const issuer = AsnConvert.parse(root.certificate, Certificate).tbsCertificate;
  const issuerKey = new KeyIdentifier(identifierOf(issuer.subjectPublicKeyInfo));
  const publicKey = publicKeyOf(key);
  const subject = commonName("Skerry egress");
  const same = [
    extension(id_ce_basicConstraints, true, new BasicConstraints()),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(identifierOf(publicKey))),
    extension(id_ce_authorityKeyIdentifier, false, new AuthorityKeyIdentifier({ keyIdentifier: issuerKey })),
  ];
  return (host, { from, until }) => {
    const name = new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });
    return signed(root.key, {
      issuer: issuer.subject,
      subject,
      validity: new Validity({ notBefore: from, notAfter: until }),
      subjectPublicKeyInfo: publicKey,
      extensions: new Extensions([
        ...same,
        extension(id_ce_subjectAltName, false, new SubjectAlternativeName([name])),
      ]),
    });
  };
}

function signed(key: KeyObject, params: Partial<TBSCertificate>): string {
  const serial = randomBytes(16);
  // Positive, and as long in every certificate.
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: exact(serial),
    signature: algorithm,
    ...params,
  });
  const signature = sign("sha256", new Uint8Array(AsnConvert.serialize(tbsCertificate)), key);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: exact(signature),
  });
  const base64 = Buffer.from(AsnConvert.serialize(certificate)).toString("base64");
  const lines = base64.match(/.{1,64}/g)!.join("\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function commonName(value: string): Name {
  return new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({
        type: COMMON_NAME,
        value: new AttributeValue({ utf8String: value }),
      }),
    ]),
  ]);
}

function publicKeyOf(key: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(createPublicKey(key).export({ format: "der", type: "spki" }), SubjectPublicKeyInfo);
}

function identifierOf(publicKey: SubjectPublicKeyInfo): ArrayBuffer {
  return exact(createHash("sha1").update(new Uint8Array(publicKey.subjectPublicKey)).digest());
}

function extension(extnID: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** A buffer of Node's pool shares its memory with others. */
function exact(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

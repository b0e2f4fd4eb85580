import type { Attack } from "./attack-cases.js";

/** Python: says things to the proxy as they are, and prints the last answer of every connection, a line of JSON each. */
export function talk({ sends, answers = 1 }: Pick<Attack, "sends" | "answers">): string {
  return `
import json, re, socket, ssl

def client_hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname=name or None)
    try: session.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()

def is_whole(reply):
    if reply[:1] == b"\\x05": return len(reply) in (2, 10)
    head, end, body = reply.partition(b"\\r\\n\\r\\n")
    length = re.search(b"(?i)\\ncontent-length: *(\\d+)", head)
    return bool(end) and (len(body) >= int(length[1]) if length else head.startswith(b"HTTP/1.1 200 Connection"))

def answer(s):
    # The first bytes may take a while; what belongs to them comes soon after.
    reply = b""
    s.settimeout(5)
    try:
        while piece := s.recv(65536):
            reply += piece
            if ${answers} == 1 and is_whole(reply): break
            if reply.count(b"HTTP/1.1 ") >= ${answers}: s.settimeout(0.15)
    except OSError: pass
    return reply

def readable(reply):
    if reply[:1] == b"\\x05" and len(reply) == 10: return f"SOCKS reply {reply[1]}"
    if reply[:1] == b"\\x15" and len(reply) == 7: return f"TLS alert {reply[6]}"
    return reply.decode("latin-1")

for pieces in json.loads(${JSON.stringify(JSON.stringify(sends))}):
    reply = b""
    with socket.create_connection(("127.0.0.1", 3128), timeout=5) as s:
        for piece in pieces:
            hello = re.fullmatch("{hello:(.*)}", piece)
            try: s.sendall(client_hello(hello[1]) if hello else piece.encode("latin-1"))
            except OSError: break
            reply = answer(s)
            # Refused: the connection is over.
            if reply[:2] in (b"\\x05\\x02", b"\\x05\\x07") or reply[9:12] in (b"403", b"400"): break
    print(json.dumps(readable(reply)))
`;
}

"""Listens inside a sandbox, and answers by the path: some of it as no server should."""
import asyncio

HOSTILE = "\r\n".join([
    "HTTP/1.1 200 Fine\u00e9", "Content-Type: text/html", "Content-Length: 2", "X-Plain: kept", "ETag: \"1\"",
    "Set-Cookie: session=evil; Path=/", "Set-Cookie: two=evil", "Access-Control-Allow-Origin: *",
    "Access-Control-Allow-Credentials: true", "Content-Security-Policy: default-src *",
    "Content-Security-Policy-Report-Only: default-src *; report-uri //evil.example", "Strict-Transport-Security: max-age=1",
    "Clear-Site-Data: \"*\"", "Service-Worker-Allowed: /", "X-Request-Id: forged", "Alt-Svc: h2=\"evil.example:443\"",
    "WWW-Authenticate: Basic realm=evil", "Refresh: 0;url=//evil.example", "Link: </v1>; rel=preload", "Report-To: {}", "NEL: {}",
    "Cross-Origin-Opener-Policy: unsafe-none", "Cache-Control: public, max-age=9", "X-Content-Type-Options: none",
    "X-Skerry-Admin: yes", "Connection: close, X-Hop", "X-Hop: dropped", "Keep-Alive: timeout=9", "Proxy-Authenticate: Basic",
    "Upgrade: h2c", "Trailer: X-Late", "Vary: *", "Referrer-Policy: unsafe-url", "", "ok",
]).encode("latin-1")

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ANSWERS = {
    "/hostile": HOSTILE,
    "/garbage": b"SSH-2.0-OpenSSH_9.2\r\n",
    "/nothing": b"",
    "/half-head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "/big-head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20000 + b"\r\n\r\n",
    "/many-headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %d\r\n" % (n, n) for n in range(3000)) + b"\r\n",
    "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    "/split": b"HTTP/1.1 200 OK\r\nX-A: 1\rX-B: 2\r\nContent-Length: 2\r\n\r\nok",
    "/upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "/status-099": b"HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n",
    "/status-999": b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "/more": OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "/early": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK,
    "/redirect": b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/x?y=z\r\nContent-Length: 0\r\n\r\n",
    "/old": b"HTTP/1.0 404 Not Found\r\n\r\nnot here",
    "/empty": b"HTTP/1.1 204 No Content\r\n\r\n",
}


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
    fields = head.lower().split(b"\r\n")
    body = b""
    for field in fields:
        if field.startswith(b"content-length:"): body = await reader.readexactly(int(field.split(b":")[1]))
        if field.startswith(b"transfer-encoding:"): body = await reader.readuntil(b"0\r\n\r\n")
    return head, body


async def answer(reader, writer):
    first = await reader.read(1)
    # Anything but a request is echoed, for tunnels.
    if first == b"\0":
        while first:
            writer.write(first)
            await writer.drain()
            first = await reader.read(65536)
        return
    head, body = await read_request(reader)
    head = first + head
    with open("heads", "ab") as heads: heads.write(head + b"\r\n\r\n")
    path = head.split(b" ")[1].decode().split("?")[0]
    if path == "/stall":
        open("came", "w").close()
        await reader.read(1)
        open("left", "w").close()
    elif path == "/pieces":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\none\n")
        await writer.drain()
        await reader.read(1)
    elif path in ANSWERS:
        writer.write(ANSWERS[path])
    else:
        said = head + b"\r\n\r\n" + body
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(said) + said)


async def serve(reader, writer):
    try:
        await answer(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 8000, limit=1 << 20, backlog=256)
    print("listening", flush=True)
    await server.serve_forever()


asyncio.run(main())

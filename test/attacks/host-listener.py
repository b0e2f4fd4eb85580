"""What a host has that a sandbox must not reach: argv is the word and a directory. Ends with its standard input."""
import ctypes, json, os, random, socket, sys, threading

word, directory = sys.argv[1:3]


def serve(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(word.encode())
            except OSError:
                pass  # it only wanted to connect


def answer(datagrams):
    while True:
        _, sender = datagrams.recvfrom(100)
        datagrams.sendto(word.encode(), sender)


def start(target, argument):
    threading.Thread(target=target, args=[argument], daemon=True).start()


tcp = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
udp.bind(("::", 0))
name = "skerry-attack-%d-%s" % (os.getpid(), word)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + name)
abstract.listen()
abstract_datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
abstract_datagram.bind("\0" + name + "-datagram")
paths = []
for place in (directory, "/run" if os.access("/run", os.W_OK) else directory):
    paths.append("%s/%d.sock" % (place, len(paths)) if place == directory else "%s/%s.sock" % (place, name))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(paths[-1])
    os.chmod(paths[-1], 0o777)
    listener.listen()
    start(serve, listener)
for listener in (tcp, abstract):
    start(serve, listener)
start(answer, udp)

libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
key = 0x5CE10000 + random.randrange(0xFFFF)
segment = libc.shmget(key, 4096, 0o1666)
ctypes.memmove(libc.shmat(segment, None, 0), word.encode(), len(word))
shared = "/dev/shm/" + name
with open(shared, "w") as file:
    file.write(word)

print(
    json.dumps(
        {
            "tcpPort": tcp.getsockname()[1],
            "udpPort": udp.getsockname()[1],
            "abstractName": name,
            "socketPaths": paths,
            "shmKey": key,
            "sharedMemoryFile": shared,
        }
    ),
    flush=True,
)
sys.stdin.read()
libc.shmctl(segment, 0, None)
for path in (*paths, shared):
    os.unlink(path)

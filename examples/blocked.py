"""What a sandbox keeps a program from doing: ./skerry run examples/blocked.py

Each line is an attempt; the program itself ends well.
"""

import os
import socket


def attempt(what, action):
    try:
        print(f"{what}: REACHED {action()!r}")
    except OSError as error:
        print(f"{what}: blocked ({error.strerror or error})")


attempt("read a private key", lambda: os.listdir("/root/.ssh"))
attempt("read the password file", lambda: open("/etc/shadow").read(10))
attempt("change the system", lambda: open("/etc/passwd", "a").write("x"))
attempt("reach the network", lambda: socket.create_connection(("1.1.1.1", 53), timeout=2))
attempt("reach the cloud's metadata", lambda: socket.create_connection(("169.254.169.254", 80), timeout=2))

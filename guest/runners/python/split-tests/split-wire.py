"""Frames to and from the host, and conversations with the other side over them.

A frame is a length (32 bits, little-endian), a letter and JSON: `J` is for the host, `R` is handed on to the other side. A
conversation is between one thread here and one there: who asks waits, and answers what is asked meanwhile.
"""

import _thread
import json
import os
import struct
from _queue import SimpleQueue

import _socket as socket

MAX_FRAME = 16 << 20
MAX_CONVERSATIONS = 64
MAX_WAITING = 1000


class Broken(BaseException):
    """The other side does not keep to the protocol. Nothing that it says counts any more."""


class Link:
    """The socket to the host. `serve(message)` answers what is asked, `refuse(problem)` is what is said instead of an answer
    that cannot be sent; `broken(why)` ends this side, and so does `ended()`."""

    def __init__(self, fd, serve, refuse, broken, ended, first):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)
        self.serve, self.refuse, self.broken, self.ended = serve, refuse, broken, ended
        self.process = os.getpid()
        self.writing = _thread.allocate_lock()
        self.lock = _thread.allocate_lock()
        self.local = _thread._local()
        self.main = _thread.get_ident()
        self.inboxes = {0: SimpleQueue()}
        self.idle = []  # conversations of ours that are not in use
        self.next = first

    def start(self):
        # Not a thread of the module threading: programs that count threads must not see it.
        _thread.start_new_thread(self._read, ())

    def tell(self, message):
        """Says something to the host."""
        self._send(b"J", message)

    def ask(self, message):
        """Has the other side do something; returns its answer."""
        if os.getpid() != self.process:
            raise RuntimeError("A process that was forked cannot reach the other side of a test")
        outer = getattr(self.local, "number", None)
        number = self._take() if outer is None else outer
        self.local.number = number
        try:
            self._send(b"R", ["q", number] + message)
            while True:
                heard = self.inboxes[number].get()
                if heard[0] != "q":
                    return heard
                self._answer(number, heard)
        finally:
            self.local.number = outer
            if outer is None and number != 0:
                self.idle.append(number)

    def listen(self, number=0):
        """Answers one conversation for ever."""
        self.local.number = number
        inbox = self.inboxes[number]
        while True:
            heard = inbox.get()
            if heard[0] != "q":
                self.broken("an answer without a question")
            self._answer(number, heard)

    @property
    def is_talking(self):
        return getattr(self.local, "number", None) is not None and os.getpid() == self.process

    def _take(self):
        if _thread.get_ident() == self.main:
            return 0
        with self.lock:
            if self.idle:
                return self.idle.pop()
            if len(self.inboxes) >= MAX_CONVERSATIONS:
                raise RuntimeError("More than %d threads talk with the other side" % MAX_CONVERSATIONS)
            number, self.next = self.next, self.next + 2
            self.inboxes[number] = SimpleQueue()
            return number

    def _answer(self, number, heard):
        answer = self.serve(heard[2:])
        if os.getpid() != self.process:
            self.ended()  # two would answer
        try:
            self._send(b"R", [answer[0], number] + answer[1:])
        except ValueError as problem:
            answer = self.refuse(problem)
            self._send(b"R", [answer[0], number] + answer[1:])

    def _send(self, kind, message):
        text = kind + json.dumps(message, separators=(",", ":"), check_circular=False).encode()
        if len(text) > MAX_FRAME:
            raise ValueError("A value of more than %d bytes cannot be handed to the other side of a test" % MAX_FRAME)
        with self.writing:
            self.socket.sendall(struct.pack("<I", len(text)) + text)

    def _read(self):
        try:
            while True:
                head = self._take_bytes(4)
                size = 0 if head is None else struct.unpack("<I", head)[0]
                body = self._take_bytes(size) if 0 < size <= MAX_FRAME else None
                if body is None:
                    return self.ended() if head is None else self.broken("no frame")
                self._hear(body)
        except Broken as problem:
            self.broken(str(problem))
        except OSError:
            self.ended()
        except BaseException as problem:
            self.broken("something that cannot be read (%s)" % type(problem).__name__)

    def _hear(self, body):
        if body[:1] != b"R":
            raise Broken("a frame of an unknown kind")
        message = json.loads(body[1:])
        if type(message) is not list or len(message) < 3 or message[0] not in ("q", "a", "e") or type(message[1]) is not int:
            raise Broken("something that is no message")
        number = message[1]
        inbox = self.inboxes.get(number)
        if inbox is None:
            # Who asks begins a conversation, and the numbers of each side are its own.
            if message[0] != "q" or number % 2 == self.next % 2 or not 0 < number < 1 << 31:
                raise Broken("an answer without a question")
            with self.lock:
                if len(self.inboxes) >= MAX_CONVERSATIONS:
                    raise Broken("more than %d conversations" % MAX_CONVERSATIONS)
                inbox = self.inboxes[number] = SimpleQueue()
            _thread.start_new_thread(self.listen, (number,))
        if inbox.qsize() > MAX_WAITING:
            raise Broken("more than %d unread messages" % MAX_WAITING)
        inbox.put(message)

    def _take_bytes(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                return None
            data += part
        return bytes(data)

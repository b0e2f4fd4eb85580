"""Values as JSON, both ways. What is plain crosses by value, by a strict table; anything else as a reference.

null, true, false and text are themselves, a number is a small int. The rest is a list that begins with a letter:

    ["i", hex] int          ["f", repr] float         ["c", repr, repr] complex   ["b"/"B", base64] bytes, bytearray
    ["l"/"t"/"s"/"z", [..]] list, tuple, set, frozenset                           ["d", [[key, value], ..]] dict
    ["m", n]                the n-th mutable value of this message again          ["k", name, ..] one of KINDS
    other letters           references: see split-objects.py

Instances of subclasses are read with the methods of the plain type itself, never with their own.
"""

import base64
import binascii

MAX_DEPTH = 200
MAX_NODES = 2_000_000
SMALL = 1 << 53

SEQUENCES = {list: "l", tuple: "t", set: "s", frozenset: "z"}
MUTABLE = (list, dict, set, bytearray)
MAKERS = {"l": list, "t": tuple, "s": set, "z": frozenset}


class Encoder:
    """One message. `refer(value, encoder)` says what has no plain form; `known` are mutable values that it may speak of."""

    def __init__(self, refer, known=()):
        self.refer = refer
        self.seen = {id(value): number for number, value in enumerate(known)}
        self.kept = list(known)
        self.nodes = 0
        self.size = 0

    def encode(self, value, depth=0):
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return self.text(value)
        if kind is int:
            return value if -SMALL < value < SMALL else ["i", "%x" % value]
        if kind is float:
            return ["f", float.__repr__(value)]
        self.count(depth)
        if kind in SEQUENCES or kind is dict or kind is bytearray:
            return self.container(value, kind, depth)
        if kind is bytes:
            return ["b", self.base64(value)]
        if kind is complex:
            return ["c", float.__repr__(value.real), float.__repr__(value.imag)]
        if kind in KIND_NAMES:
            return self.kind(value, kind, depth)
        return self.refer(value, self, depth)

    def kind(self, value, kind, depth):
        return self.named(KIND_NAMES[kind], value, depth)

    def named(self, name, value, depth):
        return ["k", name] + [self.encode(part, depth + 1) for part in KINDS[name][1](value)]

    def base(self, value, kind, depth):
        """The value of a subclass's instance as the plain type has it."""
        plain = kind.__getnewargs__(value)[0] if kind in (str, bytes) else base_value(value, kind)
        return self.encode(plain, depth)

    def container(self, value, kind, depth):
        if kind in MUTABLE:
            number = self.seen.get(id(value))
            if number is not None:
                return ["m", number]
            self.remember(value)
        return [LETTERS[kind], self.content(value, kind, depth)]

    def remember(self, value):
        self.seen[id(value)] = len(self.kept)
        self.kept.append(value)

    def content(self, value, kind, depth=0):
        if kind is bytearray:
            return self.base64(value)
        if kind is dict:
            return [[self.encode(key, depth + 1), self.encode(each, depth + 1)] for key, each in dict.items(value)]
        return [self.encode(each, depth + 1) for each in kind.__iter__(value)]

    def text(self, value):
        self.measure(len(value))
        return value

    def base64(self, value):
        self.measure(len(value) * 4 // 3)
        return base64.b64encode(bytes(value)).decode()

    def measure(self, size):
        """Before it is copied: what is too large may be very large."""
        self.size += size
        if self.size > MAX_FRAME:
            raise ValueError("A value of more than %d bytes cannot be handed to the other side of a test" % MAX_FRAME)

    def count(self, depth):
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise ValueError("A value that is nested more than %d times cannot be handed to the other side of a test" % MAX_DEPTH)
        if self.nodes > MAX_NODES:
            raise ValueError("A value of more than %d parts cannot be handed to the other side of a test" % MAX_NODES)


LETTERS = {**SEQUENCES, dict: "d", bytearray: "B"}


class Decoder:
    """One message, read strictly: what is not in the table is Broken. `refer(message, decoder)` finds references."""

    def __init__(self, refer, known=()):
        self.refer = refer
        self.known = list(known)
        self.nodes = 0

    def decode(self, message, depth=0):
        kind = type(message)
        if message is None or kind is bool or kind is str or kind is int:
            return message
        self.nodes += 1
        if kind is not list or len(message) < 2 or depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Broken("a value that is none")
        letter = message[0]
        try:
            if letter in MAKERS:
                return self.sequence(letter, message, depth)
            if letter == "d":
                return self.into({}, self.pairs(message), depth)
            if letter == "f":
                return float(self.text(message[1]))
            if letter == "i":
                return int(self.text(message[1]), 16)
            if letter == "b":
                return self.bytes(message[1])
            if letter == "B":
                return self.keep(bytearray(self.bytes(message[1])))
            if letter == "c":
                return complex(float(self.text(message[1])), float(self.text(message[2])))
            if letter == "m":
                return self.known[self.number(message[1], len(self.known))]
            if letter == "k":
                return KINDS[self.text(message[1])][2](*[self.decode(part, depth + 1) for part in message[2:]])
        except Broken:
            raise
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError) as problem:
            raise Broken("a value that is none (%s)" % type(problem).__name__)
        return self.refer(message, self, depth)

    def sequence(self, letter, message, depth):
        parts = message[1]
        if type(parts) is not list:
            raise Broken("a value that is none")
        if letter == "l":
            target = self.keep([])
            target.extend([self.decode(part, depth + 1) for part in parts])
            return target
        if letter == "s":
            target = self.keep(set())
            target.update([self.decode(part, depth + 1) for part in parts])
            return target
        return MAKERS[letter]([self.decode(part, depth + 1) for part in parts])

    def into(self, target, pairs, depth):
        self.keep(target)
        for key, value in pairs:
            key = self.decode(key, depth + 1)
            target[key] = self.decode(value, depth + 1)
        return target

    def replace(self, target, content):
        """Gives a mutable value of ours the content that it has on the other side."""
        if type(target) is bytearray:
            target[:] = self.bytes(content)
            return
        if type(content) is not list:
            raise Broken("a change that is none")
        if isinstance(target, dict):
            new = [(self.decode(key), self.decode(value)) for key, value in self.pairs([None, content])]
            target.clear()
            target.update(new)
        else:
            new = [self.decode(part) for part in content]
            target.clear()
            (target.extend if isinstance(target, list) else target.update)(new)

    def keep(self, value):
        self.known.append(value)
        return value

    def pairs(self, message):
        pairs = message[1]
        if type(pairs) is not list or any(type(pair) is not list or len(pair) != 2 for pair in pairs):
            raise Broken("a value that is none")
        return pairs

    def text(self, message):
        if type(message) is not str:
            raise Broken("a value that is none")
        return message

    def number(self, message, end):
        if type(message) is not int or not 0 <= message < end:
            raise Broken("a value that is none")
        return message

    def bytes(self, message):
        try:
            return base64.b64decode(self.text(message), validate=True)
        except binascii.Error:
            raise Broken("a value that is none")

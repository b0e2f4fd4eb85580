"""One side of a test run: its own objects that the other side knows, and the other side's that it knows."""



class Side:
    """`guard` decides what the other side may do with objects of this one, `asks_all` whether it decides about comparisons."""

    def __init__(self, guard, asks_all):
        self.guard = guard
        self.asks_all = asks_all
        self.own = {}  # number → [object, how often it was told]
        self.numbers = {}
        self.next = 1
        self.peers = weakref.WeakValueDictionary()
        self.kept = {}  # those that no weak reference can hold, and classes
        self.released = []
        self.lock = _thread.RLock()
        self.link = None
        self.loops = Loops()

    # --- What we ask for ---

    def ask(self, op, *values):
        __tracebackhide__ = True
        encoder = Encoder(self.refer)
        message = [op, self.take_released()] + [encoder.encode(value) for value in values]
        heard = self.link.ask(message)
        try:
            result = self.take(heard, encoder.kept)
        except Broken as problem:
            self.link.broken(str(problem))
        if heard[0] == "e":
            raise result
        return result

    def take(self, heard, known):
        """An answer's value, once our own mutable values are as the other side left them."""
        if len(heard) != 5 or type(heard[3]) is not list:
            raise Broken("an answer that is none")
        decoder = Decoder(self.find, known)
        result = decoder.error(heard[2]) if heard[0] == "e" else decoder.decode(heard[2])
        for change in heard[3]:
            if type(change) is not list or len(change) != 2:
                raise Broken("a change that is none")
            decoder.replace(known[decoder.number(change[0], len(known))], change[1])
        self.guard.show(heard[4])
        return result

    def get(self, target, name):
        __tracebackhide__ = True
        if not may_read(name):
            raise AttributeError(name)
        return self.ask("get", target, name)

    def special(self, target, name, *args):
        __tracebackhide__ = True
        return self.ask("special", target, name, args)

    def expect(self, kind, op, *values):
        return self.convert(kind, self.ask(op, *values))

    def convert(self, kind, value):
        """The value, if it is of that very type: what only acts like it is not for this side to trust."""
        if type(value) is kind or value is NotImplemented:
            return value
        raise TypeError("%s expected, not %s" % (kind.__name__, type(value).__name__))

    def compare(self, target, name, other):
        __tracebackhide__ = True
        if self.asks_all or is_peer(other):
            return self.special(target, name, other)
        kind = getattr(type(target), "_skerry_plain", None)
        if kind is None:
            return NotImplemented
        if isinstance(target, Mixed) and type(target)._skerry_difference:
            refuse_mixed(name)
        return getattr(kind, name)(self.expect(kind, "value", target), other)

    def calculate(self, target, name, *others):
        __tracebackhide__ = True
        if self.asks_all:
            return self.special(target, name, *others)
        operands = (target, *others)
        is_mixed = any(isinstance(each, Mixed) for each in operands)
        is_all_theirs = all(is_peer(each) for each in others)
        kind = getattr(type(target), "_skerry_plain", None)
        if kind in READING and not is_mixed and not is_all_theirs and hasattr(kind, name) and not name.startswith("__i"):
            return getattr(kind, name)(self.expect(kind, "value", target), *others)
        result = self.special(target, name, *others)
        if result is NotImplemented or is_all_theirs and not is_mixed:
            return result
        # A solution that sees what it is compared with could make every comparison true. A subclass of a plain type is as good as plain.
        if not isinstance(result, Reference):
            raise TypeError("%s of an object of the solution and a plain value gave a plain value: compare the object's values instead" % name)
        is_difference = name in DIFFERENCES or any(isinstance(each, Mixed) and type(each)._skerry_difference for each in operands)
        if name.startswith("__i") and not is_mixed and number_of(result) == number_of(target):
            # It has changed, as by a method of its own.
            return mix(target, False) if is_difference else target
        return mix(result, is_difference)

    def signature(self, target):
        import inspect

        parameters = []
        for name, kind, default, annotation in self.ask("signature", target):
            more = {}
            if default:
                more["default"] = default[0]
            if annotation:
                more["annotation"] = annotation[0]
            parameters.append(inspect.Parameter(name, inspect._ParameterKind(kind), **more))
        return inspect.Signature(parameters, __validate_parameters__=False)

    async def await_there(self, target):
        return await self.loops.in_thread(lambda: self.ask("await", target), lambda: self.ask("cancel", target))

    def take_released(self):
        released = []
        while self.released:
            released.append(self.released.pop())
        return released

    # --- What is asked of us ---

    def serve(self, message):
        try:
            if len(message) < 3 or type(message[0]) is not str or message[0] not in OPERATIONS:
                raise Broken("something unknown")
            if message[0] not in WITHOUT_TARGET and (type(message[2]) is not list or message[2][:1] != ["P"]):
                raise Broken("something to be done to nothing")
            self.release(message[1])
            decoder = Decoder(self.find)
            values = [decoder.decode(each) for each in message[2:]]
        except Broken as problem:
            self.link.broken(str(problem))
        before = [snapshot(value) for value in decoder.known]
        try:
            kind, value = "a", OPERATIONS[message[0]](self.guard, *values)
        except BaseException as error:
            kind, value = "e", error
        changed = [number for number, value in enumerate(before) if has_changed(value, decoder.known[number])]
        known = decoder.known[: len(before)]
        try:
            return self.answer(kind, value, known, changed)
        except BaseException as error:
            return self.answer("e", error, known, ())

    def answer(self, kind, value, known, changed):
        encoder = Encoder(self.refer, known)
        result = encode_error(value, encoder) if kind == "e" else encoder.encode(value)
        changes = [[number, encoder.content(known[number], type(known[number]))] for number in changed]
        return [kind, result, changes, self.guard.shown()]

    def refuse(self, problem):
        return self.answer("e", problem, (), ())

    def release(self, released):
        if type(released) is not list:
            raise Broken("something unknown")
        with self.lock:
            for each in released:
                if type(each) is not list or len(each) != 2 or type(each[0]) is not int or type(each[1]) is not int:
                    raise Broken("something unknown")
                number, count = each
                known = self.own.get(number)
                if known is None or number == 1:
                    continue
                known[1] -= count
                if known[1] <= 0:
                    del self.own[number]
                    del self.numbers[id(known[0])]

    # --- Our own objects, as the other side is told of them ---

    def number(self, value):
        with self.lock:
            number = self.numbers.get(id(value))
            if number is None:
                number, self.next = self.next, self.next + 1
                self.numbers[id(value)] = number
                self.own[number] = [value, 0]
            self.own[number][1] += 1
            return number

    def refer(self, value, encoder, depth):
        kind = type(value)
        if is_peer(value):
            return ["P", number_of(value)]
        if issubclass(kind, BaseException):
            return encode_error(value, encoder, depth)
        named = self.guard.named(value)
        if named is not None:
            return ["G", *named]
        self.guard.check_tell(value)
        if issubclass(kind, type):
            return ["C", self.number(value)]
        if issubclass(kind, FUNCTIONS):
            return ["F", self.number(value), short(getattr(value, "__name__", "")), is_async(value)]
        if kind is types.CoroutineType:
            return ["W", self.number(value)]
        # By its class: an object may say that it is of another.
        base = next((each for each in PLAIN + BY_KIND if issubclass(kind, each)), None)
        if is_array(value):
            return encoder.named("array", value, depth)
        if base in BY_KIND:
            return encoder.kind(value, base, depth)
        if base is not None:
            return ["V", self.number(value), self.number(kind), encoder.base(value, base, depth)]
        return ["O", self.number(value), self.number(kind)]

    # --- The other side's objects ---

    def find(self, message, decoder, depth):
        letter, number = message[0], message[1]
        if letter == "G" and len(message) == 3:
            return self.guard.find_named(decoder.text(number), decoder.text(message[2]))
        if letter == "X":
            return decoder.error(message, depth)
        if type(number) is not int or number < 1:
            raise Broken("a reference that is none")
        if letter == "P":
            known = self.own.get(number)
            if known is None:
                raise Broken("a reference to nothing")
            return known[0]
        if letter == "C":
            return self.class_of(number)
        known = self.peers.get(number)
        if known is None:
            known = self.kept.get(number)
        if known is None:
            known = self.make(message, decoder, depth)
        object.__getattribute__(known, "_skerry_own").count += 1
        return known

    def make(self, message, decoder, depth):
        letter, number = message[0], message[1]
        if letter == "V" and len(message) == 4:
            cls = self.class_of(message[2])
            plain = getattr(cls, "_skerry_plain", None)
            value = decoder.decode(message[3], depth + 1)
            if plain not in PLAIN or type(value) is not plain:
                raise Broken("a value that is none")
            made = plain.__new__(cls, value)
            self.kept[number] = made
        else:
            if letter == "O" and len(message) == 3:
                cls = self.class_of(message[2])
                if not issubclass(cls, Reference):
                    raise Broken("an instance of something else")
            elif letter == "F" and len(message) == 4:
                cls = RemoteAsyncFunction if message[3] is True else RemoteFunction
            elif letter == "W":
                cls = RemoteCoroutine
            else:
                raise Broken("something unknown")
            made = object.__new__(cls)
            self.peers[number] = made
        object.__setattr__(made, "_skerry_own", Own(number))
        return made

    def class_of(self, number):
        """The class that stands in for one of the other side's."""
        if type(number) is not int or number < 1:
            raise Broken("a reference that is none")
        with self.lock:
            known = self.kept.get(number)
        if known is None:
            described = self.link.ask(["describe", [], number])
            known = stand_in(number, self.take(described, []))
            with self.lock:
                known = self.kept.setdefault(number, known)
        if not isinstance(known, RemoteType):
            raise Broken("a class that is none")
        return known


# All others are done to an object that the asking side was told of.
WITHOUT_TARGET = ("describe", "input", "stdin")


def snapshot(value):
    return bytes(value) if type(value) is bytearray else list(value.items()) if isinstance(value, dict) else list(value)


def has_changed(before, value):
    if type(value) is bytearray:
        return before != bytes(value)
    if len(before) != len(value):
        return True
    if isinstance(value, dict):
        return any(key is not old or each is not was for (old, was), (key, each) in zip(before, value.items()))
    return any(each is not was for was, each in zip(before, value))


def short(text):
    return text[:200] if type(text) is str else ""


def is_async(value):
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return isinstance(code, types.CodeType) and bool(code.co_flags & 0x80)

"""Runs a solution with cases that the host gives it one by one: `python3 cases-python.py FILE MODULE`, a socket to the host on
descriptor 3. It says what came of each, and never learns what should have come of it. See guest/runners/README.md.

Each case is a process of its own: a fork that has the solution loaded for a call, a new interpreter for a program with input.
"""

import os
import sys

PARTS = ["split-tests/split-%s" % part for part in ("wire", "kinds", "arrays", "values", "errors")]
for part in PARTS + ["cases/cases-calls", "cases/cases-programs"]:
    with open("%s/%s.py" % (os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))), part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))

KILLED_BY_OTHERS = 137


class Driver:
    """Takes orders from the host, one after the other."""

    def __init__(self, fd, path, name):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)
        self.path, self.name = path, name
        self.module = None
        self.status = 0

    def run(self):
        error = syntax_error(self.path)
        if error is not None:
            return self.fail("syntax", error)
        self.say({"type": "ready"})
        while True:
            order = self.hear()
            if order is None:
                return self.leave(self.status)
            self.say({"type": "done", "case": order["case"], **self.do(order)})

    def do(self, order):
        began = time.monotonic()
        if "input" in order:
            done = run_program([sys.executable, self.path, *order["args"]], order["input"].encode(), order["timeoutMs"] / 1000)
        else:
            if self.module is None:
                self.module = self.load()
            done = run_call(self.module, order, order["timeoutMs"] / 1000, [self.socket])
        if done.get("signal") == 9 and not done.get("timedOut"):
            self.status = KILLED_BY_OTHERS  # perhaps for memory, which the host knows
        return {"durationMs": round((time.monotonic() - began) * 1000, 3), **done}

    def load(self):
        spec = importlib.util.spec_from_file_location(self.name, self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            self.fail("error", error)
        return sys.modules[self.name]

    def fail(self, kind, error):
        message = cut("%s: %s" % (type(error).__name__, text_of(error)))
        self.say({"type": "failed", "kind": kind, "message": message, "traceback": traceback_text(error)})
        self.leave(1)

    def leave(self, status):
        flush_output()
        os._exit(status)

    def say(self, message):
        text = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<I", len(text)) + text)

    def hear(self):
        head = take_bytes(self.socket, 4)
        body = None if head is None else take_bytes(self.socket, struct.unpack("<I", head)[0])
        return None if body is None else json.loads(body)


path, name = sys.argv[1:]
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
sys.dont_write_bytecode = True
Driver(3, path, name).run()

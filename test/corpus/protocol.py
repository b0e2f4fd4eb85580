#!/usr/bin/python3
"""Checks the Python runner's side of the control protocol: bad input, killed children, leaks, seeds.

    protocol.py [--python FILE] [--latency RUNS]
"""

import argparse
import array
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from harness import RUNNERS, receive, start_runner

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


class Guest:
    def __init__(self, python, preload=()):
        config = json.dumps({"preload": list(preload)})
        command = [python, os.path.join(RUNNERS, "python", "zygote", "python-zygote.py"), config]
        self.process, self.control = start_runner(command, ENV, (subprocess.DEVNULL, None, None))
        self.null = os.open("/dev/null", os.O_RDWR)

    def send(self, data, fds):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.control.sendmsg([data], rights)

    def job(self, path, stdout=None, env=ENV):
        job = {"path": path, "argv": [path], "cwd": os.path.dirname(path), "env": env}
        self.send(json.dumps(job).encode(), [self.null, stdout or self.null, self.null])

    def run(self, path, env=ENV):
        """Runs to the end and returns stdout and the X message's fields."""
        read, write = os.pipe()
        self.job(path, write, env)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            output = file.read()
        started, ended = receive(self.control), receive(self.control)
        assert started[:1] == b"P" and ended.split()[0][1:] == started[1:], (started, ended)
        return output, [int(field) for field in ended[1:].split()]

    def standbys(self):
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            return [int(pid) for pid in file.read().split()]

    def descriptors(self):
        return sorted(int(fd) for fd in os.listdir("/proc/%d/fd" % self.process.pid))

    def close(self):
        self.control.close()
        return self.process.wait(5)


def bad_input_is_answered_with_an_error(guest, program):
    good = json.dumps({"path": program, "argv": [program], "cwd": "/", "env": {}}).encode()
    fds = [guest.null] * 3
    for data, rights in (
        (b"not json", fds),
        (b"[]", fds),
        (b"\xff\xfe", fds),
        (b"null", fds),
        (b"[" * 100000, fds),
        (good, []),
        (good, fds[:1]),
        (good, fds * 30),
        (good.replace(b'"env": {}', b'"env": {"a=b": "c"}'), fds),
        (good.replace(b'"env": {}', b'"env": {"a": 1}'), fds),
        (good.replace(b'"cwd": "/"', b'"cwd": "\\u0000"'), fds),
        (good.replace(b'"argv"', b'"arg"'), fds),
    ):
        guest.send(data, rights)
        answer = receive(guest.control)
        assert answer[:1] == b"E", (data[:60], answer)
    assert guest.run(program)[0] == b"42\n"


def a_killed_standby_is_replaced(guest, program):
    for _ in range(5):
        for pid in guest.standbys():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)  # a job handed to a dying standby is reported as killed, which is true
        assert guest.run(program)[0] == b"42\n"


def a_bad_directory_ends_only_its_child(guest, program):
    job = {"path": program, "argv": [program], "cwd": "/no/such/place", "env": ENV}
    guest.send(json.dumps(job).encode(), [guest.null] * 3)
    assert receive(guest.control)[:1] == b"P"
    assert receive(guest.control)[:1] == b"X"
    assert guest.run(program)[0] == b"42\n"


def jobs_run_side_by_side(guest, slow):
    began = time.monotonic()
    for _ in range(8):
        guest.job(slow)
    answers = [receive(guest.control) for _ in range(16)]
    pids = [answer[1:] for answer in answers if answer[:1] == b"P"]
    ended = [answer[1:].split()[0] for answer in answers if answer[:1] == b"X"]
    assert len(pids) == 8 and sorted(pids) == sorted(ended), answers
    assert time.monotonic() - began < 2, "eight sleeps of 0.3 s took too long"


def children_hold_nothing_of_the_zygote(guest, listing):
    output, _ = guest.run(listing)
    assert output == b"['0', '1', '2', '3'] True True\n", output


def accounts_are_plausible(guest, burner):
    _, (_, status, user, system, maxrss) = guest.run(burner)
    assert status == 3 << 8 and 50_000 < user + system < 5_000_000 and maxrss > 60_000, (status, user, system, maxrss)


def one_zygote_has_one_hash_seed_and_two_have_two(guest, python, hasher):
    other = Guest(python)
    first, second = guest.run(hasher)[0], other.run(hasher)[0]
    assert first == guest.run(hasher)[0] != second
    fixed = {"PYTHONHASHSEED": "0", **ENV}
    plain = subprocess.run([python, hasher], env=fixed, capture_output=True).stdout
    assert guest.run(hasher, fixed)[0] == other.run(hasher, fixed)[0] == plain
    other.close()


def seeds_are_fresh(guest, seeds):
    assert len({guest.run(seeds)[0] for _ in range(20)}) == 20


def the_end_of_the_conversation_ends_everything(guest):
    standbys = guest.standbys()
    assert standbys and guest.close() == 0
    deadline = time.monotonic() + 2
    while any(os.path.exists("/proc/%d" % pid) and open("/proc/%d/stat" % pid).read().split()[2] != "Z" for pid in standbys):
        assert time.monotonic() < deadline, "a standby outlived its zygote"
        time.sleep(0.01)


def measure(guest, program, runs):
    warm = []
    for _ in range(runs):
        time.sleep(0.01)
        began = time.perf_counter()
        guest.job(program)
        receive(guest.control), receive(guest.control)
        warm.append((time.perf_counter() - began) * 1e3)
    cold = []
    for _ in range(max(runs // 4, 20)):
        time.sleep(0.01)
        began = time.perf_counter()
        subprocess.run(["/usr/bin/python3", "-c", "print(40+2)"], env=ENV, stdout=guest.null)
        cold.append((time.perf_counter() - began) * 1e3)
    warm.sort()
    p50, p99 = statistics.median(warm), warm[int(len(warm) * 0.99)]
    print("job to X: p50 %.2f ms, p99 %.2f ms; bare python3 -c: p50 %.2f ms; ratio %.3f" % (p50, p99, statistics.median(cold), p50 / statistics.median(cold)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--latency", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:

        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(text)
            return path

        hello = write("hello.py", "print(40 + 2)\n")
        guest = Guest(options.python, ["json", "random"])
        bad_input_is_answered_with_an_error(guest, hello)
        before = guest.descriptors()
        a_killed_standby_is_replaced(guest, hello)
        a_bad_directory_ends_only_its_child(guest, hello)
        jobs_run_side_by_side(guest, write("slow.py", "import time; time.sleep(0.3)\n"))
        children_hold_nothing_of_the_zygote(guest, write("fds.py", "import os\nprint(sorted(os.listdir('/proc/self/fd')), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())\n"))
        accounts_are_plausible(guest, write("burn.py", "x = bytearray(64 << 20)\nfor _ in range(3000000): pass\nraise SystemExit(3)\n"))
        one_zygote_has_one_hash_seed_and_two_have_two(guest, options.python, write("hash.py", "print(hash('a'))\n"))
        seeds_are_fresh(guest, write("seeds.py", "import random, uuid, tempfile\nprint(random.random(), uuid.uuid4())\n"))
        time.sleep(0.1)
        assert len(guest.descriptors()) <= len(before) + 1, (before, guest.descriptors())
        the_end_of_the_conversation_ends_everything(guest)
        print("protocol: ok")
        if options.latency:
            for preload in ([], ["json", "re", "random", "asyncio", "subprocess"], ["numpy", "pandas"]):
                guest = Guest(options.python, preload)
                print(preload, end=" ")
                measure(guest, hello, options.latency)
                guest.close()


if __name__ == "__main__":
    main()

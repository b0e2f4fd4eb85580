#!/usr/bin/python3
"""Runs every program of the corpus plainly and through the warm runners, and compares.

Acts as the guest: it owns the other end of descriptor 3. Both runs use the same directory, arguments
and environment; stdout, stderr and the way the process ended must be equal byte for byte. Siblings of
a program: `.stdin`, `.args` and `.env` (JSON), `.stdio` ({"stdout": "full" or "broken"}), and `.stdout`,
what it must print, for TypeScript, where the plain run uses our hooks as well.

    harness.py [--python FILE] [--node FILE] [--preload a,b] [filter ...]
"""

import argparse
import array
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
RUNNERS = os.path.normpath(os.path.join(HERE, "..", "..", "guest", "runners"))
PREBUILT = os.path.normpath(os.path.join(HERE, "..", "..", "prebuilt"))
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
PRELOAD = "json,random,logging,threading,asyncio,subprocess,multiprocessing,concurrent.futures,uuid,tempfile,decimal,dataclasses,numpy"
TIMEOUT = 60
VARIES = [(re.compile(rb"0x[0-9a-f]{6,}"), b"0xADDRESS"), (re.compile(rb"\(node:\d+\)"), b"(node:PID)")]


class Program:
    """One corpus entry: a file, or a directory with a main file, and its siblings."""

    def __init__(self, language, name, source):
        self.language, self.name, self.source = language, name, source
        base = os.path.join(PROGRAMS, language, name)
        self.stdin = self._read(base + ".stdin", b"")
        self.args = json.loads(self._read(base + ".args", b"[]"))
        self.env = json.loads(self._read(base + ".env", b"{}"))
        self.stdio = json.loads(self._read(base + ".stdio", b"{}"))
        self.expected = self._read(base + ".stdout", None)

    @staticmethod
    def _read(path, default):
        if not os.path.exists(path):
            return default
        with open(path, "rb") as file:
            return file.read()

    def place(self, directory):
        """Copies the program to `directory`, empty before, and returns its main file."""
        shutil.rmtree(directory, ignore_errors=True)
        if os.path.isdir(self.source):
            shutil.copytree(self.source, directory, symlinks=True)
            if os.path.isdir(os.path.join(directory, "_node_modules")):  # so named to be kept in git
                os.rename(os.path.join(directory, "_node_modules"), os.path.join(directory, "node_modules"))
            main = next(entry for entry in sorted(os.listdir(directory)) if entry.startswith("main."))
        else:
            os.makedirs(directory)
            main = "main" + os.path.splitext(self.source)[1]
            shutil.copy(self.source, os.path.join(directory, main))
        return os.path.join(directory, main)


def load_programs(filters):
    for language in sorted(os.listdir(PROGRAMS)):
        folder = os.path.join(PROGRAMS, language)
        for entry in sorted(os.listdir(folder)):
            name, extension = os.path.splitext(entry)
            if extension in (".stdin", ".args", ".env", ".stdio", ".stdout"):
                continue
            label = language + "/" + name
            if not filters or any(text in label for text in filters):
                yield Program(language, name, os.path.join(folder, entry))


class Streams:
    """A program's three descriptors and what it wrote to them."""

    def __init__(self, program):
        stdin_read, stdin_write = os.pipe()
        self.output = {1: b"", 2: b""}
        self.readers = {}
        self.fds = [stdin_read]
        for fd, name in ((1, "stdout"), (2, "stderr")):
            kind = program.stdio.get(name)
            if kind == "full":
                self.fds.append(os.open("/dev/full", os.O_WRONLY))
                continue
            read, write = os.pipe()
            self.fds.append(write)
            if kind == "broken":
                os.close(read)
            else:
                self.readers[fd] = read
        self.threads = [threading.Thread(target=self._feed, args=(stdin_write, program.stdin))]
        self.threads += [threading.Thread(target=self._drain, args=item) for item in self.readers.items()]

    def start(self):
        for fd in self.fds:
            os.close(fd)
        for thread in self.threads:
            thread.daemon = True
            thread.start()

    def _feed(self, fd, data):
        try:
            while data:
                data = data[os.write(fd, data) :]
        except OSError:
            pass
        os.close(fd)

    def _drain(self, fd, read):
        while True:
            chunk = os.read(read, 65536)
            if not chunk:
                break
            self.output[fd] += chunk
        os.close(read)

    def finish(self):
        for thread in self.threads:
            thread.join(10)
        for pattern, stable in VARIES:
            self.output = {fd: pattern.sub(stable, data) for fd, data in self.output.items()}
        return self.output[1], self.output[2]


def start_runner(command, env, fds):
    """Starts a runner with the control socket on descriptor 3 and `fds` as its stdio."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def place():
        os.dup2(there.fileno(), 3)
        os.set_inheritable(3, True)

    process = subprocess.Popen(
        command, env=env, stdin=fds[0], stdout=fds[1], stderr=fds[2], preexec_fn=place, pass_fds=[3], start_new_session=True
    )
    there.close()
    while True:
        message = receive(here)
        if message == b"R":
            return process, here
        print("  runner:", message.decode(errors="replace"), file=sys.stderr)
        if not message:
            raise SystemExit("runner ended before it was ready: %s" % command)


def receive(control):
    if not select.select([control], [], [], TIMEOUT)[0]:
        return b"timeout"
    return control.recv(65536)


class Zygote:
    """The Python runner: many jobs over one control socket."""

    def __init__(self, python, runner, preload, env):
        config = json.dumps({"preload": [name for name in preload.split(",") if name]})
        command = [python, runner, config]
        self.process, self.control = start_runner(command, env, (subprocess.DEVNULL, None, None))

    def run(self, program, main, directory, env):
        streams = Streams(program)
        job = {"path": main, "argv": [main, *program.args], "cwd": directory, "env": env}
        started = time.perf_counter()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams.fds))]
        self.control.sendmsg([json.dumps(job).encode()], rights)
        streams.start()
        reply = receive(self.control)
        if not reply.startswith(b"P"):
            return ("refused", reply.decode(errors="replace"), "", 0)
        ended = receive(self.control)
        took = time.perf_counter() - started
        if ended == b"timeout":
            os.killpg(int(reply[1:].split()[0]), signal.SIGKILL)
            receive(self.control)
            return ("timeout", *streams.finish(), took)
        pid, status = ended[1:].split()[:2]
        assert pid == reply[1:].split()[0], (reply, ended)
        return (outcome(int(status)), *streams.finish(), took)


def outcome(status):
    return "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status)


def wait(process):
    try:
        code = process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "timeout"
    return "signal %d" % -code if code < 0 else "exit %d" % code


def run_plain(command, program, directory, env):
    streams = Streams(program)
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=directory, env=env, stdin=streams.fds[0], stdout=streams.fds[1], stderr=streams.fds[2], start_new_session=True
    )
    streams.start()
    end = wait(process)
    took = time.perf_counter() - started
    return (end, *streams.finish(), took)


def run_parked(command, program, main, directory, base_env, env):
    streams = Streams(program)
    process, control = start_runner(command, base_env, streams.fds)
    streams.start()
    job = {"path": main, "argv": [main, *program.args], "cwd": directory, "env": env}
    started = time.perf_counter()
    control.send(json.dumps(job).encode())
    end = wait(process)
    took = time.perf_counter() - started
    refusal = control.recv(65536)
    control.close()
    if refusal:
        return ("refused", refusal, b"", took)
    return (end, *streams.finish(), took)


def show(label, result):
    print("    %s: %s" % (label, result[0]))
    for name, data in (("stdout", result[1]), ("stderr", result[2])):
        for line in data[-3000:].splitlines():
            print("      %s| %s" % (name, line.decode("utf-8", "backslashreplace") if isinstance(line, bytes) else line))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--node", default="/usr/bin/node")
    parser.add_argument("--preload", default=PRELOAD)
    parser.add_argument("filters", nargs="*")
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="skerry-corpus-")
    home = os.path.join(scratch, "home")
    os.mkdir(home)
    opt = os.path.join(scratch, "opt")
    shutil.copytree(RUNNERS, opt)
    for keeper in glob.glob(os.path.join(PREBUILT, "linux-" + ARCHITECTURES[os.uname().machine], "*.so")):
        shutil.copy(keeper, opt)
    programs = os.path.join(opt, "javascript", "programs")
    bundler = os.path.join(os.path.dirname(RUNNERS), "bundle-typescript.mjs")
    subprocess.run([options.node, bundler, programs], check=True)
    base_env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"}
    directory = os.path.join(scratch, "workspace")
    runner, hooks = os.path.join(programs, "node-runner.cjs"), os.path.join(programs, "typescript-hooks.cjs")
    zygote = None
    counts, failed = {}, []
    for program in load_programs(options.filters):
        env = {**base_env, **program.env}
        label = program.language + "/" + program.name
        file = program.place(directory)
        if program.language == "python":
            if zygote is None:
                zygote = Zygote(options.python, os.path.join(opt, "python", "zygote", "python-zygote.py"), options.preload, base_env)
            plain = run_plain([options.python, file, *program.args], program, directory, env)
            file = program.place(directory)
            warm = zygote.run(program, file, directory, env)
        else:
            require = ["--require", hooks] if program.language == "typescript" else []
            plain = run_plain([options.node, *require, file, *program.args], program, directory, env)
            file = program.place(directory)
            command = [options.node, *require, "--require", runner, runner]
            warm = run_parked(command, program, file, directory, base_env, env)
        same = plain[:3] == warm[:3] and plain[0] != "timeout" and program.expected in (None, plain[1])
        counts[program.language] = counts.get(program.language, 0) + 1
        print("%s %-48s %-10s plain %6.1f ms  warm %6.1f ms" % ("ok  " if same else "FAIL", label, plain[0], plain[3] * 1e3, warm[3] * 1e3), flush=True)
        if not same:
            failed.append(label)
            show("plain", plain)
            show("warm ", warm)
    if zygote is not None:
        leaks = os.listdir("/proc/%d/fd" % zygote.process.pid)
        print("zygote descriptors after all runs:", sorted(leaks, key=int))
        zygote.control.close()
        zygote.process.wait(10)
    shutil.rmtree(scratch, ignore_errors=True)
    print("programs:", counts, "| failed:", len(failed), *failed)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()

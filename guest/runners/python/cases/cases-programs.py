"""One run of a solution as a program: input in, output out."""

import selectors
import subprocess

MAX_OUTPUT = 1 << 20


def run_program(argv, given, seconds):
    program = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, bufsize=0
    )
    output = {program.stdout: bytearray(), program.stderr: bytearray()}
    timed_out = exchange(program, given, output, time.monotonic() + seconds)
    over = any(len(each) > MAX_OUTPUT for each in output.values())
    if timed_out or over:
        kill_group(program.pid)
    status = program.wait()
    kill_group(program.pid)
    told = {
        "stdout": output[program.stdout][:MAX_OUTPUT].decode("utf-8", "replace"),
        "stderr": output[program.stderr][:MAX_OUTPUT].decode("utf-8", "replace"),
    }
    if timed_out:
        return {"timedOut": True, **told}
    if over:
        return {"tooLong": True, **told}
    return {"signal": -status, **told} if status < 0 else {"exitCode": status, "output": True, **told}


def exchange(program, given, output, deadline):
    """Feeds and reads until the program has ended or prints too much; True: its time is over."""
    with selectors.DefaultSelector() as waiting:
        for stream in output:
            waiting.register(stream, selectors.EVENT_READ)
        os.set_blocking(program.stdin.fileno(), False)
        waiting.register(program.stdin, selectors.EVENT_WRITE)
        while len(waiting.get_map()) > 0:
            left = deadline - time.monotonic()
            if left <= 0:
                return True
            ready = waiting.select(min(left, 0.05))
            if not ready and program.poll() is not None:
                return False  # a process that it started keeps its output open
            for key, _ in ready:
                if key.fileobj is program.stdin:
                    given = feed(program.stdin, given, waiting)
                    continue
                part = os.read(key.fd, 1 << 16)
                output[key.fileobj] += part
                if not part:
                    waiting.unregister(key.fileobj)
                elif len(output[key.fileobj]) > MAX_OUTPUT:
                    return False
    while program.poll() is None:
        if time.monotonic() > deadline:
            return True
        time.sleep(0.005)
    return False


def feed(stream, given, waiting):
    try:
        given = given[os.write(stream.fileno(), given[: 1 << 16]) :]
    except BlockingIOError:
        return given
    except OSError:
        given = b""  # it does not want to know the rest
    if not given:
        waiting.unregister(stream)
        stream.close()
    return given

"""Reports tests' results to the host as they happen. Only the tests' process can: the solution's has another socket."""

import time

MAX_SHOWN = 10_000
MAX_NAME = 500
PER_MESSAGE = 500


class Report:
    """`tell(message)` says something to the host."""

    def __init__(self, tell):
        self.tell = tell
        self.count = 0
        self.has_failed = False

    def runner(self, name):
        self.tell({"type": "runner", "runner": name})

    def found(self, names):
        """Tells of tests, before any of them runs. Their numbers are in this order."""
        first = self.count
        for at in range(0, len(names), PER_MESSAGE):
            self.tell({"type": "found", "tests": [name[:MAX_NAME] for name in names[at : at + PER_MESSAGE]]})
        self.count += len(names)
        return range(first, self.count)

    def started(self, number):
        self.tell({"type": "start", "test": number})

    def ended(self, number, status, seconds, problem=None):
        self.has_failed = self.has_failed or status in ("failed", "error")
        self.tell({
            "type": "result", "test": number, "status": status, "durationMs": round(seconds * 1000, 3), **(problem or {}),
        })

    def broken(self, name, error, text=None):
        """The tests could not even be found."""
        self.has_failed = True
        self.tell({
            "type": "broken",
            "name": name[:MAX_NAME],
            "bySolution": is_of_solution(error),
            **problem_of(error, text),
        })

    def end(self):
        self.tell({"type": "end"})


def problem_of(error, text=None, compared=None):
    """A failure as it is told: message, traceback, and what was compared."""
    message = cut("%s: %s" % (type(error).__name__, text_of(error)) if not is_failure(error) else text_of(error) or type(error).__name__)
    told = traceback_text(error) if text is None else text
    for each in chain_of(error):
        remote = getattr(each, "_skerry_traceback", "") if "_skerry_own" in getattr(each, "__dict__", ()) else ""
        if remote and remote not in told:
            told += "\n\nIn the solution:\n%s" % remote
    problem = {"message": message, "traceback": cut(told)}
    compared = getattr(error, "__dict__", {}).get("_skerry_compared", compared)
    if compared is not None and is_failure(error):
        problem["actual"], problem["expected"] = compared
    return problem


def is_failure(error):
    """True: something was asserted and does not hold."""
    return isinstance(error, AssertionError) or type(error).__module__ == "_pytest.outcomes" and not is_peer(error)


def is_of_solution(error):
    """True: it came from the solution, or is about what the solution lacks."""
    return any(
        "_skerry_own" in getattr(each, "__dict__", ())
        or isinstance(each, ImportError) and each.name == MODULE
        or any(frame.filename == SOLUTION for frame in traceback.extract_tb(each.__traceback__))
        for each in chain_of(error)
    )


def chain_of(error):
    seen = []
    while error is not None and len(seen) < 10 and all(error is not each for each in seen):
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def compared_as(op, left, right):
    """What is shown of a comparison that does not hold: what there is, and what there should be."""
    return shown(left), shown(right) if op in ("==", "is") else "%s %s" % (op, shown(right))


def shown(value):
    try:
        text = repr(value)
    except Exception as problem:
        text = "<its repr() fails with %s>" % type(problem).__name__
    return text if len(text) <= MAX_SHOWN else "%s…" % text[:MAX_SHOWN]

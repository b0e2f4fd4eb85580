"""Runs tests with pytest, and takes what comes of them from its hooks."""


def run_pytest(path, report):
    import pytest

    report.runner("pytest")
    watch_unittest()
    plugin = create_plugin(pytest, report, os.path.basename(path))
    options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", os.path.dirname(path), path]
    status = int(pytest.main(options, plugins=[plugin]))
    if status in (3, 4) or status == 2 and report.count == 0 and not report.has_failed:
        report.broken(os.path.basename(path), RuntimeError("pytest ended with status %d" % status), "")


def create_plugin(pytest, report, file):
    class Plugin:
        """The tests by their node ids; each is told of once, when its last phase has ended."""

        def __init__(self):
            self.numbers = {}
            self.compared = None
            self.outcome = None
            self.seconds = 0

        @pytest.hookimpl(hookwrapper=True)
        def pytest_make_collect_report(self, collector):
            made = (yield).get_result()
            if made.failed:
                error = made.call.excinfo.value
                is_wrapped = isinstance(error, collector.CollectError) and error.__cause__ is not None
                report.broken(file, error.__cause__ if is_wrapped else error, made.longreprtext)

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makeitem(self, collector, name, obj):
            # A test of the solution's own would be one that it passes.
            return [] if is_peer(obj) else None

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            """Runs a test that is a coroutine, which pytest by itself would skip."""
            if not inspect.iscoroutinefunction(pyfuncitem.obj):
                return None
            import asyncio

            names = pyfuncitem._fixtureinfo.argnames
            asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
            return True

        def pytest_collection_finish(self, session):
            for module in {item.getparent(pytest.Module) for item in session.items} - {None}:
                check_module(module.obj)
            for item in session.items:
                if hasattr(item, "runtest"):
                    item.runtest = uninterrupted(item.runtest)
            ids = [item.nodeid for item in session.items]
            self.numbers = dict(zip(ids, report.found([each.partition("::")[2] or each for each in ids])))

        def pytest_assertrepr_compare(self, config, op, left, right):
            self.compared = compared_as(op, left, right)

        def pytest_runtest_logstart(self, nodeid, location):
            self.compared, self.outcome, self.seconds = None, None, 0
            report.started(self.numbers[nodeid])

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            made = (yield).get_result()
            self.seconds += call.duration
            if made.skipped:
                self.outcome = ("skipped", {"message": skip_reason(made, call)})
            elif made.failed:
                status = "failed" if call.when == "call" else "error"
                if self.outcome is None or self.outcome[0] != "failed":
                    self.outcome = (status, self.problem(made, call))
            self.compared = None

        def problem(self, made, call):
            if call.excinfo is None:
                return {"message": cut(made.longreprtext)}  # expected to fail, strictly, and passed
            problem = problem_of(call.excinfo.value, made.longreprtext, self.compared)
            if isinstance(call.excinfo.value, pytest.FixtureLookupError):
                problem["message"] = "There is no fixture %r" % call.excinfo.value.argname
            return problem

        def pytest_runtest_logfinish(self, nodeid, location):
            status, problem = self.outcome or ("passed", None)
            report.ended(self.numbers[nodeid], status, self.seconds, problem)

    return Plugin()


def skip_reason(made, call):
    if hasattr(made, "wasxfail"):
        return cut("expected to fail: %s" % made.wasxfail)
    return cut(text_of(call.excinfo.value) if call.excinfo is not None else made.longreprtext)

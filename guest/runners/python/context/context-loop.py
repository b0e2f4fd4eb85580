"""asyncio: one event loop for the whole context. It runs while code awaits, and between two pieces of code."""

CO_COROUTINE = 0x80
# How often it may stop for anything but an order while we wait for one.
MAX_STOPS = 1000


class Loop:
    """The event loop; none until code wants one."""

    current = None
    is_lent = False


async def run_awaiting(parts, namespace):
    """One task for the whole piece, so that all of it runs in the loop."""
    for part in parts:
        value = eval(part, namespace)
        if part.co_flags & CO_COROUTINE:
            value = await value
    return value


def current_loop():
    if Loop.current is None or Loop.current.is_closed():
        import asyncio

        teach(asyncio.events)
        Loop.current = asyncio.new_event_loop()
        asyncio.set_event_loop(Loop.current)
    return Loop.current


def finish(coroutine):
    """Runs code with `await` to its end."""
    loop = current_loop()
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt as interrupt:
        if task.done():
            raise
        from asyncio import CancelledError

        task.cancel()
        try:
            return loop.run_until_complete(task)
        except CancelledError:
            raise interrupt from None


class BorrowedLoop:
    """Code without `await` finds the loop running, so that it can make tasks; `asyncio.run` and the like work all the same."""

    def __init__(self, is_wanted):
        self.is_wanted = is_wanted or Loop.current is not None

    def __enter__(self):
        if self.is_wanted:
            loop = current_loop()
            Loop.is_lent = True
            MODULES["asyncio.events"]._set_running_loop(loop)

    def __exit__(self, *_):
        if self.is_wanted:
            Loop.is_lent = False
            MODULES["asyncio.events"]._set_running_loop(None)


def teach(events):
    """The loop that is lent does not run: nothing keeps another one from running, and it is lent again afterwards."""
    if hasattr(events._get_running_loop, "plain"):
        return
    plain_get, plain_set, thread = events._get_running_loop, events._set_running_loop, get_ident()

    def _get_running_loop():
        loop = plain_get()
        return None if loop is not None and loop is Loop.current and not loop.is_running() else loop

    def _set_running_loop(loop):
        is_ours = loop is None and Loop.is_lent and get_ident() == thread
        plain_set(Loop.current if is_ours else loop)

    _get_running_loop.plain = plain_get
    events._get_running_loop, events._set_running_loop = _get_running_loop, _set_running_loop


def is_idle(loop):
    """Whether nothing can happen in it, as far as its own fields tell; one of them is what wakes it up."""
    try:
        return not (loop._ready or loop._scheduled or len(loop._selector.get_map()) > 1 or MODULES["asyncio"].all_tasks(loop))
    except Exception:
        return False


def go_on_until_order():
    """Background tasks go on until the host has sent something."""
    loop, arrived = Loop.current, []
    if loop is None or loop.is_closed() or is_idle(loop):
        return

    def stop():
        arrived.append(True)
        loop.stop()

    try:
        loop.add_reader(wire.socket.fileno(), stop)
    except Exception:
        return
    # A task may stop the loop, or leave it with SystemExit.
    for _ in range(MAX_STOPS):
        try:
            loop.run_forever()
        except BaseException:
            pass
        if arrived:
            break
    try:
        loop.remove_reader(wire.socket.fileno())
    except Exception:
        Loop.current = None

"""What is awaited over there: in a thread, so that the loop that awaits it goes on."""

MAX_AWAITED = 32


class Loops:
    """Where coroutines of this side run for the other one: in the loop that tests run, or in one of our own."""

    def __init__(self):
        self.running = None
        self.own = None
        self.pool = None
        self.tasks = {}

    async def in_thread(self, ask, cancel):
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        self.running = asyncio.get_running_loop()
        self.pool = self.pool or ThreadPoolExecutor(MAX_AWAITED)
        try:
            return await self.running.run_in_executor(self.pool, ask)
        except asyncio.CancelledError:
            self.pool.submit(cancel)
            raise

    def run(self, awaitable):
        """Has a loop of this side await it, and waits for that. Never called in a loop's own thread."""
        import asyncio

        async def wait():
            return await awaitable

        loop = self.running if self.running is not None and self.running.is_running() else self.start()
        task = self.tasks[id(awaitable)] = asyncio.run_coroutine_threadsafe(wait(), loop)
        try:
            return task.result()
        except asyncio.CancelledError:
            raise
        finally:
            del self.tasks[id(awaitable)]

    def cancel(self, awaitable):
        task = self.tasks.get(id(awaitable))
        if task is not None:
            task.cancel()

    def start(self):
        import asyncio

        if self.own is None or self.own.is_closed():
            self.own = asyncio.new_event_loop()
            _thread.start_new_thread(self.own.run_forever, ())
        return self.own

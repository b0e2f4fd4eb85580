import asyncio
async def work(n):
    await asyncio.sleep(0.01 * n); print("task", n); return n
async def main():
    print(await asyncio.gather(*(work(i) for i in range(3))))
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0], p.returncode)
    print(await asyncio.to_thread(lambda: "thread"))
asyncio.run(main())

async def coro(): pass
coro()
print("done")

import asyncio
async def bad(): raise ValueError("lost")
async def main():
    asyncio.create_task(bad())
    await asyncio.sleep(0.01)
asyncio.run(main())

/** What programs that do several things at once are made of: a function for workers, and a server and its client. */
export const PARALLEL_FUNCTIONS = `
def square(x):
    return x * x

async def echo():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"echo\\n")
    return await reader.readline()
`;

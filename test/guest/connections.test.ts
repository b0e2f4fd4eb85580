import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { guest, useSanitizedGuest, withGuest } from "./sanitized-guest.js";

useSanitizedGuest();

/** Reads to the end without destroying the other direction, as iterating would. */
async function untilEnd(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  await once(stream, "end");
  return Buffer.concat(parts).toString();
}

describe("the guest, built with sanitizers", () => {
  it("carries connections to a port inside, with half-closing", async () => {
    const server = createServer({ allowHalfOpen: true }, async (socket) => {
      const request = await untilEnd(socket);
      socket.end(`${request.length} ${"x".repeat(2_000_000)}`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    try {
      await withGuest(async (connection) => {
        const stream = await connection.connect(port);
        stream.end(Buffer.alloc(1_500_000));
        const answer = await untilEnd(stream);
        expect(answer.length).toBe("1500000 ".length + 2_000_000);
        expect(answer.startsWith("1500000 ")).toBe(true);
      });
    } finally {
      server.close();
    }
    await withGuest(async (connection) => {
      await expect(connection.connect(port)).rejects.toMatchObject({ code: "PORT_FAILED" });
    });
  });

  it("carries a command's last words, whatever it was sent when it had gone", async () => {
    await withGuest(async (connection) => {
      // More than the host lets the guest send at once, by so little that the socket has room for it without a reader.
      const size = 1_050_000;
      const command = connection.run({ argv: ["sh", "-c", `head -c ${size} /dev/zero >&3`], control: true });
      await command.exit;
      command.control!.write("this is not read");
      await connection.ping();
      expect((await untilEnd(command.control!)).length).toBe(size);
      command.control!.destroy();
    });
  });

  it("hands connections made inside to the host", async () => {
    await withGuest(async (connection) => {
      const port = 40_000 + (process.pid % 20_000);
      await connection.listen(port, async (stream) => {
        stream.end(`you said ${await untilEnd(stream)}`);
      });
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const socket = dial({ port, host: "127.0.0.1", allowHalfOpen: true });
          socket.end(`hello ${index}`);
          return untilEnd(socket);
        }),
      );
      expect(answers).toEqual(answers.map((_, index) => `you said hello ${index}`));
    });
  });

  it("brings many writes in their order, and leaves bytes alone that change after they were taken", async () => {
    await withGuest(async (connection) => {
      const port = 24_000 + (process.pid % 1000);
      const reused = Buffer.alloc(100_000);
      await connection.listen(port, async (stream) => {
        stream.on("error", () => undefined).resume();
        for (let round = 0; round < 20; round++) {
          await new Promise((taken) => stream.write(reused.fill(0x61 + round), taken));
        }
        for (let at = 0; at < 50_000; at++) stream.write(String(at % 10));
        stream.end();
      });
      const socket = dial({ port, host: "127.0.0.1" });
      const rounds = Array.from({ length: 20 }, (_, round) =>
        String.fromCharCode(0x61 + round).repeat(100_000),
      );
      const answer = await untilEnd(socket);
      expect(answer === rounds.join("") + "0123456789".repeat(5000)).toBe(true);
    });
  });

  it("brings what the host sent before its end to a program that reads late", async () => {
    await withGuest(async (connection) => {
      const port = 20_000 + (process.pid % 1000);
      const streams: Duplex[] = [];
      await connection.listen(port, (stream) => streams.push(stream.on("error", () => undefined).resume()));
      const open = async () => {
        const socket = dial({ port, host: "127.0.0.1", allowHalfOpen: true });
        socket.end("now");
        while (streams.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        return { socket, stream: streams.pop()! };
      };
      // As much as fits between a host that writes and a program that does not read.
      const full = await open();
      let fits = 0;
      for (let isStuck = false; !isStuck; ) {
        const written = new Promise<boolean>((resolve) =>
          full.stream.write(Buffer.alloc(16_384), () => resolve(false)),
        );
        isStuck = await Promise.race([
          written,
          new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 300)),
        ]);
        if (!isStuck) fits += 16_384;
      }
      full.socket.destroy();
      const { socket, stream } = await open();
      stream.end(Buffer.alloc(fits - 128 * 1024));
      await new Promise((resolve) => stream.once("close", resolve));
      await connection.ping();
      expect((await untilEnd(socket)).length).toBe(fits - 128 * 1024);
    });
  });

  it("tells the host that a program closed its connection in the middle", async () => {
    await withGuest(async (connection) => {
      const port = 21_000 + (process.pid % 1000);
      const closed: Promise<unknown>[] = [];
      await connection.listen(port, (stream) => {
        stream.on("error", () => undefined).resume();
        closed.push(new Promise((resolve) => stream.once("close", resolve)));
        const more = () => {
          while (!stream.destroyed && stream.write(Buffer.alloc(64 * 1024)));
          stream.once("drain", more);
        };
        more();
      });
      for (const leave of ["destroy", "resetAndDestroy"] as const) {
        const socket = dial({ port, host: "127.0.0.1" });
        await once(socket, "data");
        socket[leave]();
      }
      await Promise.all(closed);
      expect(closed).toHaveLength(2);
    });
  });

  it("keeps room for the host however many connections are made inside", async () => {
    await withGuest(async (connection) => {
      const port = 22_000 + (process.pid % 1000);
      let accepted = 0;
      await connection.listen(port, (stream) => {
        accepted++;
        stream.on("error", () => undefined).resume();
      });
      const sockets = Array.from({ length: 380 }, () =>
        dial({ port, host: "127.0.0.1" }).on("error", () => undefined),
      );
      while (accepted < 256) await new Promise((resolve) => setTimeout(resolve, 5));
      await connection.ping();
      expect(accepted).toBe(256);
      const handle = connection.run({ argv: ["true"], env: { PATH: "/bin" } });
      expect((await handle.exit).exitCode).toBe(0);
      for (const socket of sockets.slice(0, 100)) socket.destroy();
      await connection.ping();
      for (const socket of sockets) socket.destroy();
    });
  });

  it.each([32, 33])(
    "waits with %i descriptors, all taken, and accepts again when it has some",
    async (descriptors) => {
      const cpuTicks = () =>
        readFileSync(`/proc/${guest.pid}/stat`, "utf8")
          .split(" ")
          .slice(13, 15)
          .reduce((sum, each) => sum + Number(each), 0);
      await withGuest(
        async (connection) => {
          const port = 23_000 + (process.pid % 1000);
          await connection.listen(port, (stream) => void stream.on("error", () => undefined).pipe(stream));
          const sockets = Array.from({ length: 30 }, () =>
            dial({ port, host: "127.0.0.1" }).on("error", () => undefined),
          );
          await waitUntil(() => readdirSync(`/proc/${guest.pid}/fd`).length >= descriptors - 1);
          const before = cpuTicks();
          await new Promise((resolve) => setTimeout(resolve, 1000));
          expect(cpuTicks() - before).toBeLessThan(30);
          for (const socket of sockets) socket.destroy();
          const late = dial({ port, host: "127.0.0.1" });
          late.end("hello");
          expect(await untilEnd(late)).toBe("hello");
        },
        { descriptors },
      );
    },
  );
});

import { request as httpRequest, type IncomingMessage } from "node:http";
import { beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

let server: TestServer;

beforeAll(async () => {
  server = await TestServer.open();
});

/** Asks for events, and hands the response over unread. */
function events(session: string, body: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${server.url}/v1/sessions/${session}/execute`,
      {
        method: "POST",
        agent: false,
        headers: {
          authorization: `Bearer ${server.admin}`,
          accept: "text/event-stream",
          "content-type": "application/json",
        },
      },
      resolve,
    );
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}

interface Sent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly data: any;
}

async function readAll(response: IncomingMessage): Promise<Sent[]> {
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += piece;
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("id: "))
    .map((block) => {
      const [id, event, data] = block.split("\n").map((line) => line.slice(line.indexOf(": ") + 2));
      return { id: id!, event: event!, data: JSON.parse(data!) };
    });
}

const fileOf = async (session: string, path: string) =>
  (await server.fetch(server.admin, "GET", `/v1/sessions/${session}/files/${path}`)).text();

requires("bubblewrap", "python3").describe("events", () => {
  it("come with ids, in order, and whole characters", async () => {
    const code =
      "import sys,os\nfor b in 'é→'.encode(): os.write(1, bytes([b]))\nprint('err', file=sys.stderr)";
    const response = await events("sse", { language: "python", code });
    expect(response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    const sent = await readAll(response);
    expect(sent.map(({ id }) => Number(id))).toEqual(sent.map((_, index) => index + 1));
    const text = (type: string) =>
      sent
        .filter(({ event }) => event === type)
        .map(({ data }) => data.text)
        .join("");
    expect([text("stdout"), text("stderr")]).toEqual(["é→", "err\n"]);
    expect(sent[0]).toMatchObject({ event: "execution", data: { sessionId: "sse" } });
    expect(sent.at(-1)).toMatchObject({ event: "exit", data: { success: true, exitCode: 0 } });
    expect(sent.at(-1)?.data.executionId).toBe(sent[0]?.data.executionId);
  });

  it("end with the error where nothing could run", async () => {
    const sent = await readAll(await events("sse", { argv: ["no-such-program"] }));
    expect(sent.at(-1)).toMatchObject({
      event: "error",
      data: { code: "COMMAND_NOT_FOUND", requestId: expect.any(String) },
    });
  });

  it("of a caller that does not read hold the program back", async () => {
    // It says on the side how far it came.
    const code = `
import os
for n in range(400):
    os.write(1, b"x" * 262144)
    with open("progress", "w") as f: f.write(str(n))
`;
    const response = await events("slow", { language: "python", code });
    let last = "";
    let same = 0;
    await waitUntil(async () => {
      const now = await fileOf("slow", "progress").catch(() => "");
      same = now !== "" && now === last ? same + 1 : 0;
      last = now;
      return same >= 50;
    }, 180_000);
    expect(Number(last)).toBeLessThan(300);
    const sent = await readAll(response);
    const bytes = sent
      .filter(({ event }) => event === "stdout")
      .reduce((sum, { data }) => sum + data.text.length, 0);
    expect(bytes).toBe(400 * 262_144);
    expect(await fileOf("slow", "progress")).toBe("399");
  });

  it.each([
    ["events", { accept: "text/event-stream" }],
    ["an answer", { accept: "application/json" }],
  ])("of a caller that hangs up end the program (%s)", async (_, headers) => {
    const caller = new AbortController();
    const command = "echo $$ > started; trap '' HUP; sleep 1000";
    const session = `gone-${headers.accept.length}`;
    const running = server
      .fetch(server.admin, "POST", `/v1/sessions/${session}/execute`, {
        body: JSON.stringify({ command }),
        headers: { ...headers, "content-type": "application/json" },
        signal: caller.signal,
      })
      .then((response) => response.text())
      .catch(() => "hung up");
    await waitUntil(async () => /^\d+$/m.test(await fileOf(session, "started")));
    caller.abort();
    expect(await running).toBe("hung up");
    await waitUntil(async () => {
      const { items } = (await server.call(server.admin, "GET", `/v1/executions?sessionId=${session}`)).body;
      return items[0].state === "done";
    });
    const { body } = await server.call(server.admin, "POST", `/v1/sessions/${session}/execute`, {
      command: "pgrep sleep | wc -l",
    });
    expect(body.stdout.trim()).toBe("0");
    const audit = await server.call(server.admin, "GET", `/v1/audit?sessionId=${session}&result=cancelled`);
    expect(audit.body.items).toHaveLength(1);
  });

  it("of an upload that breaks off leave nothing", async () => {
    await server.call(server.admin, "POST", "/v1/sessions", { sessionId: "half" });
    const request = httpRequest(`${server.url}/v1/sessions/half/files/half.bin`, {
      method: "PUT",
      agent: false,
      headers: {
        authorization: `Bearer ${server.admin}`,
        "content-type": "application/octet-stream",
        "content-length": "10000000",
      },
    });
    request.on("error", () => undefined);
    await new Promise<void>((resolve) => request.write(Buffer.alloc(2_000_000), () => resolve()));
    request.destroy();
    const { admin } = server;
    await waitUntil(async () => {
      const { items } = (await server.call(admin, "GET", "/v1/audit?sessionId=half&tool=file_write")).body;
      return items.length === 1 && items[0].result !== "success";
    });
    expect((await server.call(admin, "GET", "/v1/sessions/half/files")).body).toEqual({ items: [] });
  });
});

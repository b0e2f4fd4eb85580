import { request as httpRequest, type IncomingMessage } from "node:http";

/** One server-sent event. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly data: any;
}

/** Asks for events on a connection of its own, and hands the response over unread. */
export function askForEvents(
  url: string,
  key: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      agent: false,
      headers: { authorization: `Bearer ${key}`, accept: "text/event-stream", ...headers },
    } as const;
    httpRequest(url, options, resolve).on("error", reject).end();
  });
}

/** The events as they come. Leaving the loop early hangs up. */
export async function* eventsOf(response: IncomingMessage): AsyncGenerator<SentEvent> {
  let rest = "";
  for await (const piece of response.setEncoding("utf8")) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      if (!block.startsWith("id: ")) continue;
      const [id, event, data] = block.split("\n").map((line) => line.slice(line.indexOf(": ") + 2));
      yield { id: id!, event: event!, data: JSON.parse(data!) };
    }
  }
}

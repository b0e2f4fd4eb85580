import { EventSourceParserStream } from "eventsource-parser/stream";
import { SandboxError } from "./sandbox-error.js";

export interface ServerEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

/** The events of an answer as they come. To leave early is to hang up. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) throw cut(undefined);
  const text = response.body.pipeThrough(new TextDecoderStream());
  const reader = text.pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { event: value.event ?? "message", id: value.id, data: JSON.parse(value.data) as unknown };
    }
  } finally {
    // Its end may be an error already, which the loop has thrown.
    await reader.cancel().catch(() => undefined);
  }
}

/** Where a stream has no end that says so. */
export function cut(cause: unknown): SandboxError {
  return lost("What ran has been ended with it. client.executions.list() says what came of it.", cause);
}

/** The same for something that goes on without the connection. */
export function connectionLost(cause?: unknown): SandboxError {
  return lost(
    "It goes on without the connection. Connect again, from the last cursor if there is one.",
    cause,
  );
}

function lost(hint: string, cause: unknown): SandboxError {
  return new SandboxError("SERVER_UNREACHABLE", "The connection was lost before the end", {
    hint,
    cause,
    retryable: true,
  });
}

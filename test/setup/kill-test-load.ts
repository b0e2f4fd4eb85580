import { randomBytes, randomUUID } from "node:crypto";

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
type Body = any;

/** What a request came to; undefined: no answer came. */
export type Reply = { readonly status: number; readonly body: Body } | undefined;

/** Numbers that are the same for the same seed. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below;
  };
}

/** What a server has answered for, over all its lives: it has to be true afterwards. */
export class Ledger {
  /** By `session/path`: how many bytes. */
  readonly files = new Map<string, number>();
  /** Ids by name, of sessions that stay. */
  readonly sessions = new Map<string, string>();
  /** Ids by idempotency key. */
  readonly idempotent = new Map<string, string>();
  /** When sessions end by themselves, by id. */
  readonly expiring = new Map<string, number>();
  /** Ids of sessions whose end was answered. */
  readonly deleted = new Set<string>();
  /** Requests whose program has started, and whose end was not reported. */
  readonly running = new Set<string>();
  /** The same, when their server was killed. */
  readonly interrupted = new Set<string>();
  /** Questions without an answer. */
  readonly asked = new Set<string>();

  /** The server is dead: what ran does not run any more. */
  died(): void {
    for (const id of this.running) this.interrupted.add(id);
    this.running.clear();
  }
}

/** Callers of one life of a server. They stop when it does not answer any more. */
export class Load {
  readonly #url: string;
  readonly #key: string;
  readonly #round: number;
  readonly #ledger: Ledger;
  readonly #random: (below: number) => number;
  #isOver = false;

  constructor(server: {
    url: string;
    key: string;
    round: number;
    ledger: Ledger;
    random: (below: number) => number;
  }) {
    this.#url = server.url;
    this.#key = server.key;
    this.#round = server.round;
    this.#ledger = server.ledger;
    this.#random = server.random;
  }

  async call(
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await this.#fetch(method, path, {
      headers: { ...(json !== undefined && { "content-type": "application/json" }), ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const body = await response?.json().catch(() => undefined);
    return response === undefined || body === undefined ? undefined : { status: response.status, body };
  }

  /** Resolves when all of them have stopped. `asks`: commands need an approval. */
  async run(asks: boolean): Promise<void> {
    const callers = [
      this.#upload("a"),
      this.#write("b"),
      this.#occupy("c"),
      this.#useContext("d"),
      this.#makeSessions(),
      ...(asks ? [this.#ask("e")] : []),
    ];
    await Promise.all(callers);
  }

  /** No new requests. */
  stop(): void {
    this.#isOver = true;
  }

  async #upload(session: string): Promise<void> {
    await this.#keep(session);
    for (let index = 0; !this.#isOver; index++) {
      const size = Math.floor(this.#random(index % 4 === 3 ? 4_000_000 : 10_000)) + 1;
      const path = `up-${this.#round}-${index}-${size}`;
      const reply = await this.#fetch("PUT", `/v1/sessions/${session}/files/${path}`, {
        headers: { "content-type": "application/octet-stream" },
        body: randomBytes(size),
      });
      if (reply?.status === 200 && (await reply.json().catch(() => undefined)) !== undefined)
        this.#ledger.files.set(`${session}/${path}`, size);
    }
  }

  async #write(session: string): Promise<void> {
    for (let index = 0; !this.#isOver; index++) {
      const path = `run-${this.#round}-${index}-6`;
      const code = `printf whole. > ${path}`;
      const reply = await this.call("POST", `/v1/sessions/${session}/execute`, { language: "bash", code });
      if (reply?.body.success === true) this.#ledger.files.set(`${session}/${path}`, 6);
      if (index === 0) await this.#keep(session);
    }
  }

  /** Programs that do not end. */
  async #occupy(session: string): Promise<void> {
    while (!this.#isOver) {
      const id = randomUUID();
      const response = await this.#fetch("POST", `/v1/sessions/${session}/execute`, {
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          "x-request-id": id,
        },
        body: JSON.stringify({ language: "bash", code: "sleep 86400" }),
      });
      let text = "";
      try {
        for await (const piece of response?.body ?? []) {
          text += Buffer.from(piece).toString("utf8");
          if (text.includes("event: started")) this.#ledger.running.add(id);
        }
      } catch {
        return;
      }
      if (text.includes("event: exit")) this.#ledger.running.delete(id);
    }
  }

  async #useContext(session: string): Promise<void> {
    const code = "x = globals().get('x', 0) + 1\nx";
    while (!this.#isOver)
      await this.call("POST", `/v1/sessions/${session}/execute`, { language: "python", code, context: "c" });
  }

  /** Made with keys, ended, and left to end by themselves. */
  async #makeSessions(): Promise<void> {
    for (let index = 0; !this.#isOver && index < 20; index++) {
      const key = `key-${this.#round}-${index}`;
      const ttlMs = index % 3 === 1 ? 1000 : null;
      const made = await this.call("POST", "/v1/sessions", { ttlMs }, { "idempotency-key": key });
      if (made?.status !== 201) continue;
      const { sessionUid: id, sessionId: name, expiresAt } = made.body;
      this.#ledger.idempotent.set(key, id);
      if (expiresAt !== undefined) this.#ledger.expiring.set(id, Date.parse(expiresAt));
      else if (index % 3 === 2) {
        const gone = await this.call("DELETE", `/v1/sessions/${name}`);
        if (gone?.status === 200) this.#ledger.deleted.add(id);
      } else this.#ledger.sessions.set(name, id);
    }
  }

  async #ask(session: string): Promise<void> {
    const asking = this.call("POST", `/v1/sessions/${session}/execute`, { command: "true" });
    while (!this.#isOver) {
      const pending = await this.call("GET", "/v1/approvals");
      for (const { id } of pending?.body.items ?? []) this.#ledger.asked.add(id);
    }
    await asking;
  }

  /** A session that is there, and stays. */
  async #keep(name: string): Promise<void> {
    const made = await this.call("POST", "/v1/sessions", { sessionId: name, ttlMs: null });
    const found = made?.status === 201 ? made : await this.call("GET", `/v1/sessions/${name}`);
    if (found !== undefined && found.status < 300 && !this.#ledger.sessions.has(name))
      this.#ledger.sessions.set(name, found.body.sessionUid);
  }

  async #fetch(method: string, path: string, options: RequestInit): Promise<Response | undefined> {
    try {
      const headers = { authorization: `Bearer ${this.#key}`, ...options.headers };
      return await fetch(`${this.#url}${path}`, { ...options, method, headers });
    } catch {
      // The server has ended.
      this.#isOver = true;
      return undefined;
    }
  }
}

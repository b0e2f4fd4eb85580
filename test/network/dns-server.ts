import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";
import { answersTo, RESOLVER } from "./addresses.js";

const TYPES: Readonly<Record<number, string>> = { 1: "A", 28: "AAAA" };
const NO_SUCH_NAME = 3;

/** A name server for the system's own resolver. Remembers every question. */
export class DnsServer {
  /** "A api.skerry.test", since they were last taken. */
  questions: string[] = [];
  readonly #socket: Socket = createSocket("udp4");
  readonly #turns = new Map<string, number>();

  async start(): Promise<void> {
    this.#socket.on("message", (message, from) => {
      const answer = this.#answer(message);
      if (answer !== undefined) this.#socket.send(answer, from.port, from.address);
    });
    this.#socket.bind(53, RESOLVER);
    await once(this.#socket, "listening");
  }

  close(): void {
    this.#socket.close();
  }

  /** Names with answers in turn start with the first one again. */
  forget(): void {
    this.#turns.clear();
    this.questions = [];
  }

  #answer(message: Buffer): Buffer | undefined {
    if (message.length < 17) return undefined;
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at]!; length > 0 && length < 64; length = message[at]!) {
      labels.push(message.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".").toLowerCase();
    const type = message.readUInt16BE(at + 1);
    this.questions.push(`${TYPES[type] ?? type} ${name}`);
    const found = this.#addresses(name, type);
    const records = (found ?? []).filter((each) =>
      type === 1 ? isIPv4(each) : type === 28 && !isIPv4(each),
    );
    const head = Buffer.alloc(12);
    head.writeUInt16BE(message.readUInt16BE(0), 0);
    head.writeUInt16BE(0x8580 | (found === undefined ? NO_SUCH_NAME : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    const answers = records.map((address) => record(type, bytesOf(address)));
    return Buffer.concat([head, message.subarray(12, at + 5), ...answers]);
  }

  #addresses(name: string, type: number): readonly string[] | undefined {
    const answers = answersTo(name);
    if (answers === undefined || !("inTurn" in answers)) return answers;
    const turn = this.#turns.get(name) ?? 0;
    // The resolver asks for both kinds each time.
    if (type === 1) this.#turns.set(name, turn + 1);
    return answers.inTurn[Math.min(turn, answers.inTurn.length - 1)];
  }
}

/** Points at the question's name; its lifetime is zero. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
  return Buffer.concat([head, data]);
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // An IPv4 address at the end is two groups.
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts) => {
    const [a, b, c, d] = parts.slice(0, 4).map(Number) as [number, number, number, number];
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [front = "", back] = plain.split("::");
  const groups = (text: string | undefined) => (text ? text.split(":") : []);
  const [before, after] = [groups(front), groups(back)];
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

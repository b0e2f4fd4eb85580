import type { ByteRing } from "../../core/manager/index.js";
import type { ManagedSocket } from "../http/index.js";

/** What is sent and not yet taken by one connection. */
const MOST_BUFFERED_BYTES = 64 * 1024;
const PIECE_BYTES = 32 * 1024;

/** One connection to a terminal: gets the kept output from a position on, and new output, as fast as it reads. */
export class TerminalWatcher {
  #goodbye: unknown;

  /** `onTaken` is called whenever it has taken something. */
  constructor(
    private readonly socket: ManagedSocket,
    private readonly screen: ByteRing,
    private position: number,
    private readonly onTaken: () => void,
  ) {
    this.#open();
  }

  /** Bytes that it has not been sent yet. */
  get behind(): number {
    return this.screen.end - this.position;
  }

  /** Sends as much as it has room for. */
  look(): void {
    if (this.position < this.screen.start) this.#open();
    while (this.behind > 0 && this.socket.isOpen && this.socket.bufferedBytes < MOST_BUFFERED_BYTES) {
      const bytes = this.screen.read(this.position, PIECE_BYTES);
      this.position += bytes.length;
      this.socket.send(bytes, () => {
        this.look();
        this.onTaken();
      });
    }
    if (this.behind > 0 || this.#goodbye === undefined) return;
    this.socket.tell(this.#goodbye);
    this.#goodbye = undefined;
    this.socket.close(1000, "the terminal has ended");
  }

  /** The end of the output: sent after everything else. */
  end(goodbye: unknown): void {
    this.#goodbye = goodbye;
    this.look();
  }

  /** Sends its position, and how much it has missed. */
  #open(): void {
    const cursor = Math.max(this.position, this.screen.start);
    this.socket.tell({ type: "open", cursor, dropped: cursor - this.position });
    this.position = cursor;
  }
}

/** The parts of tar-stream that are used here: its own types bring another library's streams along. */
export interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  readonly mtime: Date;
  /** Null: none that it knows. */
  readonly type: string | null;
  readonly linkname: string | null;
  readonly pax: Readonly<Record<string, string>> | null;
}

export type HeaderArgument = Partial<Omit<TarHeader, "type" | "linkname">> & {
  readonly name: string;
  readonly type: string;
  readonly linkname?: string;
};

interface StreamLike {
  on(event: string, listener: (...args: never[]) => void): this;
  once(event: string, listener: (...args: never[]) => void): this;
  destroy(error?: Error): void;
}

export interface Sink extends StreamLike {
  write(chunk: Uint8Array): boolean;
  end(): void;
}

export interface Pack extends StreamLike, AsyncIterable<unknown> {
  entry(header: HeaderArgument): Sink;
  finalize(): void;
}

export interface Extract
  extends Sink,
    AsyncIterable<AsyncIterable<Uint8Array> & { readonly header: TarHeader }> {}

interface TarStream {
  pack(): Pack;
  /** Names that no pax header has come with are decoded like this. */
  extract(options: { readonly filenameEncoding: string }): Extract;
}

/** Loaded when an archive is read or written: few ever are. */
export async function loadTar(): Promise<TarStream> {
  const { pack, extract } = await import("tar-stream");
  return { pack, extract } as unknown as TarStream;
}

/** Writes it all, no faster than it is taken, and ends; stops when the sink is destroyed. */
export async function feed(chunks: AsyncIterable<Uint8Array>, sink: Sink): Promise<void> {
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    sink.once("close", () => {
      isClosed = true;
      resolve();
    });
  });
  // The reader at the other end gets the error.
  sink.on("error", () => undefined);
  for await (const chunk of chunks) {
    if (isClosed) return;
    if (sink.write(chunk)) continue;
    await Promise.race([new Promise<void>((resolve) => sink.once("drain", resolve)), closed]);
  }
  sink.end();
}

import type { Duplex, Readable } from "node:stream";
import type { RunHandle, Runner, RunRequest, WarmHandle, WarmRequest } from "../../../wire/index.js";

/**
 * One sandbox out of several containers that share the workspace: programs of a language with an image of its own run
 * there, everything else in the first one. Each has a loopback of its own.
 */
export class RoutedRunner implements Runner {
  readonly #main: Runner;
  readonly #companions = new Map<string, Runner>();
  readonly #listeners: [number, (stream: Duplex) => void][] = [];
  readonly closed: Promise<Error | undefined>;

  constructor(main: Runner) {
    this.#main = main;
    this.closed = main.closed;
  }

  /** From now on programs of the language run there. What is listened for is listened for there too. */
  async add(language: string, runner: Runner): Promise<void> {
    for (const [port, onConnection] of this.#listeners) await runner.listen(port, onConnection);
    this.#companions.set(language, runner);
    // A sandbox of which a part is gone is not the one that was promised.
    runner.closed.then((reason) => this.#main.close(reason));
  }

  run(request: RunRequest): RunHandle {
    return this.#for(request.language).run(request);
  }

  warm(request: WarmRequest): WarmHandle {
    return this.#for(request.language).warm(request);
  }

  readFile(path: string): Readable {
    return this.#main.readFile(path);
  }

  writeFile(path: string, mode: number, content: Readable | Uint8Array): Promise<void> {
    return this.#main.writeFile(path, mode, content);
  }

  /** To the first container with a listener. */
  async connect(port: number): Promise<Duplex> {
    const [first, ...others] = this.#all();
    try {
      return await first!.connect(port);
    } catch (error) {
      for (const other of others) {
        const stream = await other.connect(port).catch(() => undefined);
        if (stream !== undefined) return stream;
      }
      throw error;
    }
  }

  async listen(port: number, onConnection: (stream: Duplex) => void): Promise<void> {
    await Promise.all(this.#all().map((runner) => runner.listen(port, onConnection)));
    this.#listeners.push([port, onConnection]);
  }

  async ping(): Promise<void> {
    await Promise.all(this.#all().map((runner) => runner.ping()));
  }

  close(reason?: Error): void {
    for (const runner of this.#all()) runner.close(reason);
  }

  #for(language: string | undefined): Runner {
    return (language === undefined ? undefined : this.#companions.get(language)) ?? this.#main;
  }

  #all(): Runner[] {
    return [this.#main, ...new Set(this.#companions.values())];
  }
}

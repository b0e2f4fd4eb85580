import type { Duplex } from "node:stream";

/** A way of running a program: a runner of the guest's gets its file, and talks with the host meanwhile. */
export interface Harness {
  /** The command that runs it; `runtime` is where the guest's runners are inside, `program` where the code is. */
  command(runtime: string, program: string): readonly string[];
  /** Called with the host's end of the runner's descriptor 3 when the runner has started. It ends with the runner. */
  control(stream: Duplex): void;
}

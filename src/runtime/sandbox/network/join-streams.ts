import { type Duplex, pipeline } from "node:stream";

/** Carries bytes both ways until both sides are done; the trouble of one ends the other. */
export function joinStreams(one: Duplex, other: Duplex): void {
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

import type { ConfirmationAnswer, ConfirmationRequest, RejectionCause } from "./request.js";

/** A request without a decision. */
export interface PendingConfirmation {
  readonly request: ConfirmationRequest;
  /** `waiting` for its turn, or `shown` to the service. Either can be decided. */
  readonly state: "waiting" | "shown";
}

/** How a request ended, for listeners. */
export interface SettledConfirmation {
  readonly approved: boolean;
  readonly by: string | undefined;
  /** Undefined: it was approved. */
  readonly cause: RejectionCause | undefined;
}

export type PendingEvent =
  | { readonly type: "waiting" | "shown"; readonly pending: PendingConfirmation }
  | { readonly type: "settled"; readonly id: string; readonly settled: SettledConfirmation };

/** Whether a decision counted: the first one does; later ones get the first as their answer. */
export type DecideResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly reason: "unknown" | "invalid" }
  | { readonly accepted: false; readonly reason: "settled"; readonly settled: SettledConfirmation };

/** The open requests, and a way to decide them from elsewhere: a web page, a socket, another program. */
export interface PendingConfirmations {
  list(): readonly PendingConfirmation[];
  /** Takes anything; an answer of another shape is `invalid`, and the request stays. The caller checks who may decide. */
  decide(id: string, answer: ConfirmationAnswer): DecideResult;
  /** Tells of every change from now on; the function returned ends that. */
  subscribe(listener: (event: PendingEvent) => void): () => void;
}

import type { ConfirmationAnswer, ConfirmationRequest, RejectionCause } from "./request.js";

/** A request without a decision. */
export interface PendingConfirmation {
  readonly request: ConfirmationRequest;
  /** `waiting` for its turn, or `shown` to the service. Either can be decided. */
  readonly state: "waiting" | "shown";
}

/** How a request ended, for those who watch. */
export interface SettledConfirmation {
  readonly approved: boolean;
  readonly by: string | undefined;
  /** Undefined: it was approved. */
  readonly cause: RejectionCause | undefined;
}

export type PendingEvent =
  | { readonly type: "waiting" | "shown"; readonly pending: PendingConfirmation }
  | { readonly type: "settled"; readonly id: string; readonly settled: SettledConfirmation };

/** What became of a decision: the first one counts; later ones get it as their answer. */
export type DecideResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly reason: "unknown" | "invalid" }
  | { readonly accepted: false; readonly reason: "settled"; readonly settled: SettledConfirmation };

/** What is asked now, and the way to decide it from elsewhere: from a web page, a socket, another program. */
export interface PendingConfirmations {
  list(): readonly PendingConfirmation[];
  /** Takes anything; an answer of another shape is `invalid`, and the request stays. Who may decide is the caller's to check. */
  decide(id: string, answer: ConfirmationAnswer): DecideResult;
  /** Tells of every change from now on; the function returned ends that. */
  subscribe(listener: (event: PendingEvent) => void): () => void;
}

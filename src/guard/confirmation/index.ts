export type { DialogueStreams } from "./dialogue.js";
export { createPaint, type Paint, type Style } from "./paint.js";
export type {
  DecideResult,
  PendingConfirmation,
  PendingConfirmations,
  PendingEvent,
  SettledConfirmation,
} from "./pending.js";
export { ConfirmationQueue, type ConfirmationQueueOptions } from "./queue.js";
export type {
  AskingRule,
  ConfirmationAnswer,
  ConfirmationDetails,
  ConfirmationOutcome,
  ConfirmationRequest,
  ConfirmationService,
  ConfirmOptions,
  RejectionCause,
} from "./request.js";
export { requestText } from "./request-text.js";
export {
  AutoApproveConfirmationService,
  AutoRejectConfirmationService,
  CallbackConfirmationService,
  RemoteConfirmationService,
} from "./services.js";
export { type TerminalConfirmationOptions, TerminalConfirmationService } from "./terminal.js";

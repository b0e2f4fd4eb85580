export {
  AutoApproveConfirmationService,
  AutoRejectConfirmationService,
  CallbackConfirmationService,
  type ConfirmationAnswer,
  type ConfirmationOutcome,
  ConfirmationQueue,
  type ConfirmationRequest,
  type ConfirmationService,
  type PendingConfirmations,
  RemoteConfirmationService,
  TerminalConfirmationService,
} from "./guard/confirmation/index.js";

import type {
  ConfirmationAnswer,
  ConfirmationRequest,
  ConfirmationService,
  ConfirmOptions,
} from "./request.js";

/** Asks a function of the caller's. */
export class CallbackConfirmationService implements ConfirmationService {
  readonly name = "callback";
  readonly #ask: ConfirmationService["confirm"];

  constructor(
    ask: (
      request: ConfirmationRequest,
      options: ConfirmOptions,
    ) => ConfirmationAnswer | Promise<ConfirmationAnswer>,
  ) {
    this.#ask = async (request, options) => ask(request, options);
  }

  confirm(request: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer> {
    return this.#ask(request, options);
  }
}

/**
 * DANGEROUS: approves everything, so no person decides. For development on a machine that has nothing to lose; in
 * production leave the service out instead, and what needs a person is rejected.
 */
export class AutoApproveConfirmationService implements ConfirmationService {
  readonly name = "auto-approve";

  async confirm(): Promise<ConfirmationAnswer> {
    return { decision: "approve", scope: "once", by: this.name };
  }
}

/** Says no to everything. */
export class AutoRejectConfirmationService implements ConfirmationService {
  readonly name = "auto-reject";
  readonly #reason: string;

  constructor(reason = "Everything that needs a confirmation is rejected here") {
    this.#reason = reason;
  }

  async confirm(): Promise<ConfirmationAnswer> {
    return { decision: "reject", reason: this.#reason, by: this.name };
  }
}

/** Never answers itself: the answer comes through the queue's `decide`, or the time runs out. */
export class RemoteConfirmationService implements ConfirmationService {
  readonly name = "remote";

  confirm(_: ConfirmationRequest, { signal }: ConfirmOptions): Promise<ConfirmationAnswer> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}

import { MAX_CODE_BYTES } from "../../../kit/code-limits.js";
import { SandboxError } from "../../../kit/errors.js";
import { checkExecOptions } from "../executions/exec-options.js";
import type { ContextRunOptions } from "./context-options.js";

/** Less than what is taken as one message. */
const MAX_RESULT_BYTES = 48 * 1024 * 1024;

/** Refuses what makes no sense before it waits for its turn. */
export function checkContextRun(code: unknown, options: ContextRunOptions): void {
  if (typeof code !== "string") {
    throw new SandboxError("INVALID_ARGUMENT", "A context runs code, as text", {
      hint: 'For example context.run("1 + 1").',
    });
  }
  if (Buffer.byteLength(code) > MAX_CODE_BYTES) {
    throw new SandboxError("FILE_TOO_LARGE", `The code is longer than ${MAX_CODE_BYTES} bytes`, {
      hint: "Put data into a file of the workspace.",
    });
  }
  if (code.includes("\0")) {
    throw new SandboxError("INVALID_ARGUMENT", "Code cannot hold a NUL character", {
      hint: "Write it as an escape of the language.",
    });
  }
  checkExecOptions({ timeoutMs: options.timeoutMs, maxOutputBytes: options.maxOutputBytes });
  const { maxResultBytes } = options;
  if (maxResultBytes === undefined) return;
  if (Number.isSafeInteger(maxResultBytes) && maxResultBytes > 0 && maxResultBytes <= MAX_RESULT_BYTES)
    return;
  throw new SandboxError("INVALID_ARGUMENT", `maxResultBytes must be between 1 and ${MAX_RESULT_BYTES}`, {
    hint: "Leave it out for 16 MiB.",
  });
}

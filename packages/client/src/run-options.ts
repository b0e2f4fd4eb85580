import type { CallOptions, Input } from "./api.js";
import type { OptionNames } from "./check-options.js";

export type ExecuteRequest = Input<"/v1/sessions/{sessionId}/execute", "post">["json"];

/** How a command runs. */
export interface ExecOptions
  extends CallOptions,
    Omit<
      ExecuteRequest,
      "code" | "command" | "argv" | "stdin" | "language" | "filename" | "args" | "context"
    > {
  readonly stdin?: string | Uint8Array;
}

/** How a program runs. */
export interface RunOptions
  extends ExecOptions,
    Pick<ExecuteRequest, "language" | "filename" | "args" | "context"> {}

export const EXEC_OPTIONS: OptionNames<ExecOptions> = {
  env: true,
  cwd: true,
  stdin: true,
  timeoutMs: true,
  maxOutputBytes: true,
  files: true,
  role: true,
  agentId: true,
  signal: true,
};
export const RUN_OPTIONS: OptionNames<RunOptions> = {
  language: true,
  filename: true,
  args: true,
  context: true,
  ...EXEC_OPTIONS,
};
/** How a program runs that goes on: in no context. */
export interface StartOptions extends Omit<RunOptions, "context"> {}

const { context: _, ...START } = RUN_OPTIONS;

export const START_OPTIONS: OptionNames<StartOptions> = START;

/** What a request to run something has of its options. */
export function bodyOf({
  signal: _signal,
  stdin,
  ...rest
}: RunOptions): Omit<ExecuteRequest, "code" | "command" | "argv"> {
  if (!(stdin instanceof Uint8Array)) return stdin === undefined ? rest : { ...rest, stdin };
  return {
    ...rest,
    stdin: { base64: btoa(Array.from(stdin, (byte) => String.fromCharCode(byte)).join("")) },
  };
}

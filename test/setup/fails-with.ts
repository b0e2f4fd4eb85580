import { expect } from "vitest";

/** Matches a `SandboxError` with this code and, where it is given, this message. */
export const failsWith = (code: string, message?: string) =>
  expect.objectContaining({ code, ...(message !== undefined && { message }) });

import { expect, it } from "vitest";
import { SandboxError, toSandboxError } from "./errors.js";

it("says the first of two failures, where the second came while things were closed", async () => {
  const fail = async () => {
    await using _ = { [Symbol.asyncDispose]: () => Promise.reject(new Error("closing failed too")) };
    throw new SandboxError("AUDIT_FAILED", "the disk is full");
  };
  const error = await fail().catch(toSandboxError);
  expect(error).toMatchObject({ code: "AUDIT_FAILED", message: "the disk is full" });
});

import { SandboxError } from "../../kit/errors.js";

/** An option that there is not. */
export function unknownOption(name: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `There is no option ${JSON.stringify(name)}`, {
    hint: "Is it misspelt? Leave it out.",
  });
}

/** Throws for the first of what is left when the known options are taken away. */
export function refuseUnknown(rest: object): void {
  for (const name of Object.keys(rest)) throw unknownOption(name);
}

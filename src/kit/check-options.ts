import { closestWord } from "./closest-word.js";
import { SandboxError } from "./errors.js";

/** The names of every option of a call, which the compiler compares with their type. */
export type OptionNames<T> = Readonly<Record<keyof T & string, true>>;

/** The options of a call. INVALID_ARGUMENT: they are no object, or one of them is not known. */
export function checkOptions<T extends object>(given: T, known: OptionNames<T>): T {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SandboxError("INVALID_ARGUMENT", "Options are an object", { hint: takes(known) });
  }
  for (const name of Object.keys(given)) if (!Object.hasOwn(known, name)) throw unknownOption(name, known);
  return given;
}

/** An option that is not known, with the one that was probably meant. */
export function unknownOption(name: string, known: Readonly<Record<string, true>>): SandboxError {
  const meant = closestWord(name, Object.keys(known));
  return new SandboxError("INVALID_ARGUMENT", `There is no option ${JSON.stringify(name)}`, {
    hint: meant === undefined ? takes(known) : `Did you mean ${JSON.stringify(meant)}? ${takes(known)}`,
  });
}

function takes(known: Readonly<Record<string, true>>): string {
  return `Known: ${Object.keys(known).join(", ")}.`;
}

import { Argument, Option } from "commander";
import { closestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";

/** An option that takes one of these values; the error for another names the one that was probably meant. */
export function createChoice(flags: string, description: string, values: readonly string[]): Option {
  const option = new Option(flags, description);
  return takeOnly(option, option.long!, values);
}

/** The same of an argument. */
export function createChoiceArgument(name: string, description: string, values: readonly string[]): Argument {
  return takeOnly(new Argument(name, description), name, values);
}

function takeOnly<Target extends Option | Argument>(
  target: Target,
  name: string,
  values: readonly string[],
): Target {
  target.choices(values);
  // Commander's own collects what may be repeated.
  const accept = target.parseArg!;
  target.argParser<unknown>((value, previous) => {
    if (values.includes(value)) return accept(value, previous);
    const meant = closestWord(value, values);
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `${name}: ${JSON.stringify(value.slice(0, 80))} is none of ${values.join(", ")}`,
      { hint: meant === undefined ? "Write one of them." : `Did you mean ${meant}?` },
    );
  });
  return target;
}

/** An option whose usual values stand in the help and in completions; what else it takes, the command knows. */
export function createNamed(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description).choices(values).argParser<unknown>((value) => value);
}

import { SandboxError } from "./sandbox-error.js";

/** The names of every option of a call, which the compiler compares with their type. */
export type OptionNames<T> = Readonly<Record<keyof T & string, true>>;

/** The options of a call. INVALID_ARGUMENT: they are no object, or one of them is not known. */
export function checkOptions<T extends object>(given: T, known: OptionNames<T>): T {
  const takes = `Known: ${Object.keys(known).join(", ")}.`;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new SandboxError("INVALID_ARGUMENT", "Options are an object", { hint: takes });
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(known, name)) {
      const meant = closest(name, Object.keys(known));
      throw new SandboxError("INVALID_ARGUMENT", `There is no option ${JSON.stringify(name)}`, {
        hint: meant === undefined ? takes : `Did you mean ${JSON.stringify(meant)}? ${takes}`,
      });
    }
    if (name === "signal" && value !== undefined && !(value instanceof AbortSignal))
      throw new SandboxError("INVALID_ARGUMENT", "signal is an AbortSignal", {
        hint: "For example AbortSignal.timeout(5000).",
      });
  }
  return given;
}

/** Most calls know one option. */
export const SIGNAL = { signal: true } as const;

/** The known name most like the one given; undefined: none is close. */
function closest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase().slice(0, 64);
  const most = Math.max(2, Math.floor(wanted.length / 3));
  const [best] = known
    .map((each) => ({ each, distance: distance(wanted, each.toLowerCase()) }))
    .filter((one) => one.distance <= most && one.distance < wanted.length)
    .sort((one, other) => one.distance - other.distance);
  return best?.each;
}

/** How many letters must be added, removed or replaced. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[other.length]!;
}

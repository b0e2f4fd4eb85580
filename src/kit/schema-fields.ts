import { z } from "zod";
import { toSandboxError } from "./errors.js";
import { allowedDomainComplaint, domainComplaint } from "./hosts.js";
import { parseDurationMs } from "./units.js";

/** Fields that schemas of settings share. Load this module when there is something to check: zod takes long to load. */
export const text = z
  .string()
  .min(1, "expected some text, not an empty string")
  .refine((value) => !value.includes("\0"), {
    error: "a NUL character is not allowed",
  });

export const absolutePath = text.refine((path) => path.startsWith("/"), {
  error: "expected an absolute path",
});

export const languageName = z
  .string()
  .regex(/^[a-z][a-z0-9+#_-]*$/, "expected a language's name in lower case");

/** A container runtime that a daemon knows. */
export const runtimeName = text.regex(
  /^[a-zA-Z0-9][\w.-]*$/,
  'expected the name of a runtime such as "runsc"',
);

/** Turns what a parser throws into a problem of the field. */
export function parsedBy<T extends string | number>(parse: (value: string | number) => T, what: string) {
  return z.union([z.string(), z.number()], { error: `expected ${what}` }).transform((value, context) => {
    try {
      return parse(value);
    } catch (error) {
      const { message, hint } = toSandboxError(error);
      context.addIssue({ code: "custom", message: hint === undefined ? message : `${message}. ${hint}` });
      return z.NEVER;
    }
  });
}

export const durationMs = parsedBy(parseDurationMs, 'a duration such as "30s"');

export const list = <T extends z.ZodType>(item: T) => z.array(item).max(10_000);

/** Text that a check has no complaint about. */
export const checkedText = (complaintOf: (value: string) => string | undefined) =>
  text.superRefine((value, context) => {
    const message = complaintOf(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
export const allowedDomain = checkedText(allowedDomainComplaint);
const deniedDomain = checkedText((name) => (name === "*" ? undefined : domainComplaint(name)));
export const domainLists = {
  allowedDomains: list(allowedDomain).default(() => []),
  deniedDomains: list(deniedDomain).default(() => []),
};

import { z } from "zod";

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

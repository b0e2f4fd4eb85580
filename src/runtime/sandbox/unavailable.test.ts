import { expect, it } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import { commandUnavailable, findLanguage, languageUnavailable } from "./languages/registry.js";

it("says where an interpreter is missing: on this host, or in which image", () => {
  const python = findLanguage("python");
  expect(languageUnavailable(python, undefined).hint).toContain("apt-get install python3");
  expect(languageUnavailable(python, undefined, "review:1").hint).toBe(
    "The image review:1 has no python3: add it, or set backends.docker.images.python to one that has it.",
  );
});

it("names the image that a command is missing in, and leaves other errors alone", () => {
  const missing = new SandboxError("COMMAND_NOT_FOUND", "no such command", { hint: "Install it" });
  expect(commandUnavailable(missing, undefined)).toBe(missing);
  expect(commandUnavailable(missing, "review:1")).toMatchObject({
    code: "COMMAND_NOT_FOUND",
    message: "no such command",
    hint: expect.stringContaining("in the image review:1"),
  });
  const other = new SandboxError("CANCELLED", "late");
  expect(commandUnavailable(other, "review:1")).toBe(other);
});

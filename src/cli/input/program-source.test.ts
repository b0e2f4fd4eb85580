import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { readProgramSource } from "./program-source.js";

const directory = temporaryDirectory();

describe("the program", () => {
  it("is --code, and then every word is an argument of it", async () => {
    expect(await readProgramSource(["a", "-b"], "print(1)")).toEqual({
      code: "print(1)",
      args: ["a", "-b"],
      fromStdin: false,
    });
  });

  it("is a file, known by its name", async () => {
    const path = join(directory, "näme.py");
    writeFileSync(path, "\ufeffprint('é')\n");
    expect(await readProgramSource([path, "x"], undefined)).toEqual({
      code: "print('é')\n",
      filename: "näme.py",
      args: ["x"],
      fromStdin: false,
    });
  });

  it("is standard input for -", async () => {
    const stdin = () => Readable.from([Buffer.from("pri"), Buffer.from("nt(1)")]);
    expect(await readProgramSource(["-", "x"], undefined, stdin)).toEqual({
      code: "print(1)",
      args: ["x"],
      fromStdin: true,
    });
  });

  it.each<[string, string[], string, string]>([
    ["nothing", [], "INVALID_ARGUMENT", "there is no program"],
    ["a missing file", ["/nowhere/x.py"], "FILE_NOT_FOUND", "/nowhere/x.py: there is no such file"],
    ["a directory", ["/tmp"], "FILE_TYPE", "/tmp is a directory"],
    ["an endless file", ["/dev/zero"], "FILE_TOO_LARGE", "/dev/zero has more than 16 MiB"],
    ["a binary", [process.execPath], "FILE_TOO_LARGE", `${process.execPath} has more than 16 MiB`],
  ])("is not %s", async (_, words, code, message) => {
    await expect(readProgramSource(words, undefined)).rejects.toEqual(
      expect.objectContaining({ code, message }),
    );
  });

  it("is text", async () => {
    const path = join(directory, "binary.py");
    writeFileSync(path, Uint8Array.of(0x70, 0xff, 0xfe));
    await expect(readProgramSource([path], undefined)).rejects.toEqual(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: `${path} is not UTF-8 text` }),
    );
  });
});

import { beforeAll, expect } from "vitest";
import { parseAnswer } from "../src/guard/confirmation/answer.js";
import { Sandbox } from "../src/index.js";
import { MAX_CODE_BYTES } from "../src/kit/code-limits.js";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";
import { TestServer } from "./setup/test-server.js";

/** Half of the limit in characters, and more than the limit in bytes. */
const CODE = `#${"é".repeat(MAX_CODE_BYTES / 2)}\n`;
const ERROR = {
  code: "FILE_TOO_LARGE",
  message: "The code has more than 16 MiB",
  hint: "Put its data into files.",
};

const { describe, it } = requires("bubblewrap");

describe("code that is too long in bytes, and not in characters", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.open({ server: { limits: { body: "64MiB" } } });
  });

  it.each([
    ["code", "sessions/s/execute", { language: "python", code: CODE }],
    ["a command", "sessions/s/execute", { command: CODE }],
    ["an edit by a person", "approvals/a/decide", { decision: "edit", code: CODE }],
  ])("is refused over HTTP: %s", async (_, path, body) => {
    const reply = await server.call(server.admin, "POST", `/v1/${path}`, body);
    expect(reply).toMatchObject({ status: 413, body: ERROR });
  });

  it("is refused in the library, in a context too", async () => {
    await using sandbox = await Sandbox.create({ stateDir: temporaryDirectory() });
    await expect(sandbox.runCode(CODE, { language: "python" })).rejects.toMatchObject(ERROR);
    await expect(sandbox.exec(CODE)).rejects.toMatchObject(ERROR);
    const context = await sandbox.contexts.create();
    await expect(context.run(CODE)).rejects.toMatchObject(ERROR);
    await sandbox.delete();
  });

  it("is no answer of a person", () => {
    expect(parseAnswer({ decision: "edit", code: CODE })).toBeUndefined();
  });
});

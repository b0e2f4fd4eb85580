import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { servePage } from "../../../test/setup/browser-page.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";

/** The client as a page gets it, with a script that uses it. */
async function bundle(script = ""): Promise<{ text: string; imports: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `import { SkerryClient } from "./index.ts";\n${script}\nwindow.SkerryClient = SkerryClient;`,
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
      loader: "ts",
    },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
    write: false,
  });
  return { text: outputFiles[0]!.text, imports: Object.keys(metafile.inputs) };
}

/** Compiled with the page. */
const PAGE = `
async function use(client: SkerryClient) {
  await using session = await client.sessions.create();
  const { stdout } = await session.runCode("print(6 * 7)", { language: "python" });
  const events: string[] = [];
  for await (const event of session.exec("echo streamed")) events.push(event.type);
  await session.files.write("a b", new Blob(["from a page"]));
  const terminal = await session.terminals.open({ rows: 24, columns: 80, argv: ["sh", "-c", "echo on it"] });
  let seen = "";
  for await (const bytes of await terminal.connect()) seen += new TextDecoder().decode(bytes);
  const missing = await session.files.readBytes("none").catch((error) => [error.code, typeof error.requestId]);
  return { stdout, events, text: await session.files.read("a b"), seen, missing };
}`;

it("takes nothing of Node.js, and little of anything else", async () => {
  const { text, imports } = await bundle();
  expect(text).not.toMatch(/from ?"node:|require\("node:/);
  const packages = imports.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  // What stands for ws in a browser is three lines.
  expect([...new Set(packages)].sort()).toEqual(["eventsource-parser", "ws"]);
});

requires("bubblewrap", "python3", "chromium").it("works in a browser, at another origin", async () => {
  let script = "";
  await using page = await servePage(() => script);
  const server = await TestServer.open({ server: { origins: [page.origin] } });
  try {
    const options = JSON.stringify({ url: server.url, apiKey: server.admin });
    script = (
      await bundle(`
        ${PAGE}
        const came = await use(new SkerryClient(${options})).catch((error) => String(error.stack ?? error));
        await fetch("/report", { method: "POST", body: JSON.stringify(came) });
      `)
    ).text;
    expect(await page.report()).toEqual({
      stdout: "42\n",
      events: ["execution", "started", "stdout", "exit"],
      text: "from a page",
      seen: "on it\r\n",
      missing: ["FILE_NOT_FOUND", "string"],
    });
  } finally {
    await server.close();
  }
});

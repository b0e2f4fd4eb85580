import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";
import { TestServer } from "../../../test/setup/test-server.js";

const HEADING = `/** Generated from the server's OpenAPI document: \`npx vitest run packages/client/src/api-types.test.ts -u\`. */\n\n`;

it("are those of the server's own description", async () => {
  const server = await TestServer.open();
  try {
    const document = await (await fetch(`${server.url}/openapi.json`)).text();
    const types = astToString(await openapiTS(document, { immutable: true }));
    // Left out: what a route has not, and that a reply may have any header.
    const told = types.replaceAll(/^ +(?:readonly \w+\?: never;|headers: \{\n.*unknown;\n +\};)\n/gm, "");
    await expect(HEADING + told).toMatchFileSnapshot("api-types.ts");
  } finally {
    await server.close();
  }
});

import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";
import { TestServer } from "../../../test/setup/test-server.js";

const HEADING = `/** Generated from the server's OpenAPI document: \`npx vitest run packages/client/src/api-types.test.ts -u\`. */\n\n`;

interface Operation {
  operationId?: string;
  parameters?: { in: string }[];
  responses: Record<string, { description: string; content?: Record<string, unknown> }>;
}

it("are those of the server's own description", async () => {
  const server = await TestServer.open();
  try {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>;
      components: { responses?: unknown };
    };
    keepWhatIsCalled(document.paths);
    delete document.components.responses;
    const types = astToString(await openapiTS(JSON.stringify(document), { immutable: true }));
    // Left out: what a route has not, that a reply may have any header, and tables with nothing in them.
    const told = types
      .replaceAll(/^ +(?:(?:readonly \w+\??|\w+): never;|headers: \{\n.*unknown;\n +\};)\n/gm, "")
      .replaceAll(/^ +readonly parameters: \{\n +\};\n|^export type .*Record<string, never>;\n/gm, "");
    await expect(HEADING + told).toMatchFileSnapshot("api-types.ts");
  } finally {
    await server.close();
  }
});

/**
 * Keeps the routes that answer with JSON. Errors are left out, since the client reads them all alike, and the
 * names in a path, which the path itself says.
 */
function keepWhatIsCalled(paths: Record<string, Record<string, Operation>>): void {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      delete operation.operationId;
      operation.parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== "path");
      delete operation.responses["4XX"];
      delete operation.responses["5XX"];
      const answers = Object.values(operation.responses);
      for (const answer of answers) answer.description = "";
      if (!answers.some((answer) => answer.content?.["application/json"])) delete methods[method];
    }
    if (Object.keys(methods).length === 0) delete paths[path];
  }
}

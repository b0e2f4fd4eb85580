import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { BUILT_IN_TOOLS } from "../../../guard/policy/index.js";
import { BUILT_IN_TOOL_NAMES, createTools, TOOL_NAMES_ON_REQUEST } from "../create-tools.js";

const ALL = [...BUILT_IN_TOOL_NAMES, ...TOOL_NAMES_ON_REQUEST];

it("has one file for each built-in tool, named for it", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => !name.endsWith(".test.ts"));
  const { tools } = createTools(openManager(), { sessionId: "names", only: ALL });
  expect(tools.map(({ name }) => `${name.replaceAll("_", "-")}.ts`).sort()).toEqual(files.sort());
});

it("has the name by which a policy speaks of it", () => {
  const { tools } = createTools(openManager(), { sessionId: "names", only: ALL });
  expect(tools.map(({ name }) => name).filter((name) => !BUILT_IN_TOOLS.has(name))).toEqual([]);
});

import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import type { ToolReply } from "../core/tools/index.js";
import { outputSchemaOf, toCallResult } from "./tool-result.js";

const reply = (more: Partial<ToolReply> = {}): ToolReply => ({
  status: "success",
  summary: "It ran",
  data: { stdout: "secret\n", exitCode: 0, reason: "exited", filesWritten: ["a"] },
  text: "marked",
  ...more,
});

it("gives a model the marked text alone, and programs the JSON of the result", () => {
  const data = { version: 1, stdout: "secret\n", truncated: false };
  expect(toCallResult("run_code", reply({ data }))).toEqual({
    content: [{ type: "text", text: "marked" }],
    isError: false,
    _meta: { "skerry/outcome": { status: "success" }, "skerry/result": data },
  });
  expect(outputSchemaOf("run_code")).toBeUndefined();
});

it("has structured content where nothing in it comes from inside, and none of an error", () => {
  const data = { path: "a.txt", size: 3 };
  expect(toCallResult("file_write", reply({ data })).structuredContent).toEqual({
    status: "success",
    summary: "It ran",
    path: "a.txt",
  });
  expect(toCallResult("file_write", reply({ status: "error", data: {} }))).toEqual({
    content: [{ type: "text", text: "marked" }],
    isError: true,
    _meta: { "skerry/outcome": { status: "error" } },
  });
});

it("says of a result that had to be cut that it is", () => {
  const data = { version: 1, stdout: "x".repeat(50_000), truncated: false };
  const result = toCallResult("run_code", reply({ data }))._meta?.["skerry/result"];
  expect(result).toMatchObject({ version: 1, truncated: true });
  expect(JSON.stringify(result).length).toBeLessThan(25_000);
});

it("gives a model pictures beside the text", () => {
  const result = toCallResult(
    "run_code",
    reply({ images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] }),
  );
  expect(result.content).toEqual([
    { type: "text", text: "marked" },
    { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
  ]);
  expect(CallToolResultSchema.safeParse(result).success).toBe(true);
});

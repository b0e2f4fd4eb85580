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
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

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

it("shows pictures, encoded as the protocol wants them", () => {
  const data = PNG.toString("base64").replace(/(.{4})/g, "$1\n");
  const { content } = toCallResult("run_code", reply({ images: [{ mimeType: "image/png", data }] }));
  expect(content).toEqual([
    { type: "text", text: "marked" },
    { type: "image", mimeType: "image/png", data: PNG.toString("base64") },
  ]);
});

it.each([
  ["markup", "image/png", Buffer.from("<svg onload=alert(1)>").toString("base64"), /it is not one/],
  ["no base64", "image/png", "\u0000💥not base64", /it is not one/],
  ["nothing", "image/jpeg", "", /it is not one/],
  ["another kind", "image/jpeg", PNG.toString("base64"), /it is not one/],
  [
    "too large a picture",
    "image/png",
    Buffer.concat([PNG, Buffer.alloc(6_000_000)]).toString("base64"),
    /^A picture of 6000011 bytes is left out: the maximum is 5242880\.$/,
  ],
])("leaves out %s that a program calls a picture, and says so", (_, mimeType, data, text) => {
  const result = toCallResult("run_code", reply({ images: [{ mimeType, data }] }));
  expect(result.content).toEqual([
    { type: "text", text: "marked" },
    { type: "text", text: expect.stringMatching(text) },
  ]);
  // A client checks the whole answer, and would throw all of it away.
  expect(CallToolResultSchema.safeParse(result).success).toBe(true);
});

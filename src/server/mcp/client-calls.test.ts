import { expect, it } from "vitest";
import { summaryOf } from "./client-calls.js";

it.each([
  ["a result", { success: false, exitCode: 0, stdout: "x" }, { success: true, exitCode: 0 }],
  ["no error", { error: null }, { success: true }],
  ["an error's text", { error: "text" }, { success: true }],
  ["an error", { error: { code: "CANCELLED" } }, { success: true, code: "CANCELLED" }],
  ["what is no result", { exitCode: "zero" }, { success: true }],
])("keeps of a reply with %s what the list of executions can show", (_, data, summary) => {
  expect(summaryOf({ status: "success", data })).toEqual(summary);
  expect(summaryOf({ status: "error", data })).toEqual({ ...summary, success: false });
});

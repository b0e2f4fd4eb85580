import { expect, it } from "vitest";
import { z } from "zod";
import { SandboxManager } from "../../manager/index.js";
import { createTools } from "../create-tools.js";
import { defineTool, READS } from "../tool.js";
import type { ReplyImage } from "./tool-reply.js";

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0]);
const manager = new SandboxManager({ handleSignals: false });

/** What a model is given of a call that came to these pictures. */
async function callFor(images: readonly unknown[]) {
  const show = defineTool({
    name: "show",
    title: "Show",
    description: "Shows.",
    input: z.strictObject({}),
    annotations: READS,
    // As a tool in plain JavaScript gives them.
    run: async () => ({
      status: "success",
      summary: "shown",
      data: {},
      text: "shown",
      images: images as ReplyImage[],
    }),
  });
  const tools = createTools(manager, { sessionId: "s", more: [show], only: ["show"] });
  const { text, images: taken } = await tools.call("show", {});
  return { text, taken };
}

it("takes PNG and JPEG, encoded as APIs want them", async () => {
  const broken = PNG.toString("base64").replace(/(.{4})/g, "$1\n");
  const jpeg = { mimeType: "image/jpeg", data: JPEG.toString("base64") };
  expect(await callFor([{ mimeType: "image/png", data: broken }, jpeg])).toEqual({
    text: "shown",
    taken: [{ mimeType: "image/png", data: PNG.toString("base64") }, jpeg],
  });
});

it.each([
  ["markup", "image/png", Buffer.from("<svg onload=alert(1)>").toString("base64")],
  ["no base64", "image/png", "\u0000💥not base64"],
  ["nothing", "image/jpeg", ""],
  ["another kind", "image/jpeg", PNG.toString("base64")],
  ["a kind that not every API takes", "image/svg+xml", PNG.toString("base64")],
  ["a name of every object", "constructor", PNG.toString("base64")],
  [
    "a picture whose base64 is too large",
    "image/png",
    `${PNG.toString("base64").slice(0, 12)}${"A".repeat(5 * 1024 * 1024)}`,
  ],
])("leaves out %s that a program calls a picture, and says so", async (_, mimeType, data) => {
  const good = { mimeType: "image/png", data: PNG.toString("base64") };
  expect(await callFor([{ mimeType, data }, good])).toEqual({
    text: "shown\n1 of 2 pictures are left out: at most 20 are shown, PNG and JPEG of at most 5242880 bytes in base64.",
    taken: [good],
  });
});

it("leaves out what a conversation has no room for, and says so once", async () => {
  const good = { mimeType: "image/png", data: PNG.toString("base64") };
  const { text, taken } = await callFor([
    ...Array(500).fill(good),
    ...Array(500).fill({ ...good, data: "" }),
  ]);
  expect(taken).toHaveLength(20);
  expect(text.split("\n")).toEqual(["shown", expect.stringMatching(/^980 of 1000 pictures are left out: /)]);
});

it("has no pictures where none is left", async () => {
  expect((await callFor([{ mimeType: "image/png", data: "" }])).taken).toBeUndefined();
});

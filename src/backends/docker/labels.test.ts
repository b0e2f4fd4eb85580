import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { isAbandoned, LABEL, makerLabels, ownPlace } from "./labels.js";

const own = makerLabels("/state", "sbx-1");
const [boot, namespace] = own[LABEL.boot]!.split(":") as [string, string];

function deadMaker(): string {
  const { pid } = spawnSync("true");
  return `${pid}-1-sbx-1`;
}

it("tells a container whose maker is gone from one whose maker lives", () => {
  expect(isAbandoned({ Labels: own, State: "running" })).toBe(false);
  expect(isAbandoned({ Labels: own, State: "exited" })).toBe(false);
  expect(isAbandoned({ Labels: { ...own, [LABEL.maker]: deadMaker() }, State: "running" })).toBe(true);
});

it("takes everything of an earlier boot for left behind", () => {
  expect(isAbandoned({ Labels: { ...own, [LABEL.boot]: `other:${namespace}` }, State: "exited" })).toBe(true);
});

it("judges one of another process namespace by whether it has ended long ago", () => {
  const Labels = { ...own, [LABEL.boot]: `${boot}:other`, [LABEL.maker]: deadMaker() };
  const now = Date.now();
  const long = now / 1000 - 3600;
  expect(isAbandoned({ Labels, State: "running", Created: long }, now)).toBe(false);
  expect(isAbandoned({ Labels, State: "exited", Created: now / 1000 }, now)).toBe(false);
  expect(isAbandoned({ Labels, State: "exited", Created: long }, now)).toBe(true);
});

it("never takes what has no labels of ours", () => {
  expect(isAbandoned({ State: "exited" })).toBe(false);
  expect(isAbandoned({ Labels: { [LABEL.maker]: deadMaker() }, State: "exited" })).toBe(false);
});

it("keeps state directories apart", () => {
  expect(ownPlace("/a")[LABEL.state]).not.toBe(ownPlace("/b")[LABEL.state]);
  expect(ownPlace("/a/")[LABEL.state]).toBe(ownPlace("/a")[LABEL.state]);
});

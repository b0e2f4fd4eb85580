import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { isOrphan, LABEL, makerLabels, stateLabels } from "./labels.js";

const own = makerLabels("/state", "sbx-1");
const [boot, namespace] = own[LABEL.boot]!.split(":") as [string, string];

function deadMaker(): string {
  const { pid } = spawnSync("true");
  return `${pid}-1-sbx-1`;
}

it("tells a container whose maker is gone from one whose maker lives", () => {
  expect(isOrphan({ Labels: own, State: "running" })).toBe(false);
  expect(isOrphan({ Labels: own, State: "exited" })).toBe(false);
  expect(isOrphan({ Labels: { ...own, [LABEL.maker]: deadMaker() }, State: "running" })).toBe(true);
});

it.each([
  ["of another process namespace", `${boot}:other`],
  ["of an earlier boot, or of a copy of this machine", `other:${namespace}`],
])("judges one %s by whether it has ended long ago", (_, where) => {
  const Labels = { ...own, [LABEL.boot]: where, [LABEL.maker]: deadMaker() };
  const now = Date.now();
  const long = now / 1000 - 3600;
  expect(isOrphan({ Labels, State: "running", Created: long }, now)).toBe(false);
  expect(isOrphan({ Labels, State: "paused", Created: long }, now)).toBe(false);
  expect(isOrphan({ Labels, State: "exited", Created: now / 1000 }, now)).toBe(false);
  expect(isOrphan({ Labels, State: "exited", Created: long }, now)).toBe(true);
});

it("never takes what has no labels of ours", () => {
  expect(isOrphan({ State: "exited" })).toBe(false);
  expect(isOrphan({ Labels: { [LABEL.maker]: deadMaker() }, State: "exited" })).toBe(false);
});

it("keeps state directories apart", () => {
  expect(stateLabels("/a")[LABEL.state]).not.toBe(stateLabels("/b")[LABEL.state]);
  expect(stateLabels("/a/")[LABEL.state]).toBe(stateLabels("/a")[LABEL.state]);
});

it("keeps apart two machines that are copies of each other, by what each has in its state directory", () => {
  const directory = temporaryDirectory();
  const label = () => stateLabels(directory)[LABEL.state];
  const first = label();
  expect(label()).toBe(first);
  expect(statSync(join(directory, "place-id")).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(["place-id"]);
  rmSync(join(directory, "place-id"));
  expect(label()).not.toBe(first);
});

import { expect, it } from "vitest";
import { gapsOf } from "./inspect-runsc.js";

it.each([
  ["Debian's", "runsc version 0.0~20221219.0\nspec: 1.0.2-dev\n"],
  ["gVisor's own", "runsc version release-20221219.0\nspec: 1.0.2-dev\n"],
])("says what an old runsc lacks, by %s words", (_, version) => {
  expect(gapsOf(version)).toEqual([
    {
      what: 'ls and stat of coreutils 9 (Debian 12) fail with EINVAL, "Invalid argument", under runsc 20221219',
      remedy: "Install a newer one from gVisor's own packages.",
    },
  ]);
});

it.each(["runsc version release-20240101.0\n", "runsc version 0.0~20240729.0\n", ""])(
  "says nothing of %j",
  (version) => {
    expect(gapsOf(version)).toEqual([]);
  },
);

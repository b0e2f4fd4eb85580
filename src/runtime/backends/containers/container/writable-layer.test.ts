import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { requires } from "../../../../../test/setup/requires.js";
import { findUnexpectedChange, readWritableLayer } from "./writable-layer.js";

const { it } = requires("linux", "root");
let upper: string;
beforeEach(() => {
  upper = temporaryDirectory();
});

/** A daemon that is never asked: the layer is here. */
function look() {
  const about = { GraphDriver: { Name: "overlay2", Data: { UpperDir: upper } } };
  const container = {
    changes: () => Promise.reject(new Error("the daemon was asked")),
  };
  return readWritableLayer(
    container as unknown as Docker.Container,
    about as unknown as Docker.ContainerInspectInfo,
  );
}

it("finds a file that is not the runtime's in a container's own layer", async () => {
  for (const path of ["dev/shm", "etc"]) mkdirSync(join(upper, path), { recursive: true });
  writeFileSync(join(upper, "etc/hosts"), "");
  expect(findUnexpectedChange(await look(), ["/workspace"])).toBeUndefined();
  writeFileSync(join(upper, "etc/left"), "");
  expect(findUnexpectedChange(await look(), ["/workspace"])).toBe("/etc/left");
});

it("finds that a file of the image is gone", async () => {
  mkdirSync(join(upper, "etc"));
  execFileSync("mknod", [join(upper, "etc/hosts"), "c", "0", "0"]);
  expect(findUnexpectedChange(await look(), ["/workspace"])).toBe("/etc/hosts");
});

it("takes a layer with more in it than the runtime makes for a strange one", async () => {
  mkdirSync(join(upper, "workspace"));
  for (let count = 0; count < 1001; count++) mkdirSync(join(upper, "workspace", String(count)));
  expect(findUnexpectedChange(await look(), ["/workspace"])).toMatch(/^\/workspace\/\d+$/);
});

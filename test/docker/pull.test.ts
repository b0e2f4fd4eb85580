import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { connectDocker } from "../../src/runtime/backends/containers/daemon/connect.js";
import { getBaseImage } from "../../src/runtime/backends/containers/images/from-registry.js";
import { DOCKER_START_MS, startDocker } from "../setup/docker.js";
import { type ImageRegistry, openImageRegistry } from "../setup/image-registry.js";
import { requires } from "../setup/requires.js";

const { describe, it } = requires("docker", "linux");

describe("pulling the base image", () => {
  let docker: Docker;
  let registry: ImageRegistry;
  let steps: string[];
  let details: string[];

  beforeAll(async () => {
    docker = await connectDocker({ host: (await startDocker()).host });
  }, DOCKER_START_MS);
  beforeEach(async () => {
    [steps, details] = [[], []];
    // Of its own each time: the daemon keeps layers that it has seen.
    registry = await openImageRegistry(randomBytes(4 << 20));
  });
  afterEach(async () => {
    registry.close();
    await docker
      .getImage(registry.image)
      .remove({ force: true })
      .catch(() => undefined);
  });

  const pull = (image: string, signal = new AbortController().signal) =>
    getBaseImage(
      { docker, signal, onStep: (text) => steps.push(text), onDetail: (text) => details.push(text) },
      image,
    );

  const isPresent = async () =>
    (await docker.listImages({ filters: { reference: [registry.image] } })).length > 0;

  it("tells how far it is, and does not pull what is there", async () => {
    await pull(registry.image);
    expect(await isPresent()).toBe(true);
    expect(steps).toEqual([`pulling ${registry.image}`]);
    expect(details.join("\n")).toMatch(/^[0-9a-f]{12} Downloading \[=*>? *\] +[\d.]+[kM]?B\/[\d.]+MB$/m);
    expect(details.join("\n")).toMatch(/^[0-9a-f]{12} Pull complete$/m);
    await pull(registry.image);
    expect(steps.length).toBe(1);
  });

  it("says that the registry has no such image, and how to do without", async () => {
    const missing = registry.image.replace(/1$/, "none");
    await expect(pull(missing)).rejects.toMatchObject({
      code: "IMAGE_MISSING",
      message: expect.stringContaining(missing),
      hint: expect.stringContaining("--from debootstrap"),
    });
  });

  it("says that the registry went away half-way, and leaves nothing half-made", async () => {
    registry.goAway();
    await expect(pull(registry.image)).rejects.toMatchObject({
      code: "IMAGE_MISSING",
      message: expect.stringContaining(registry.image),
      hint: expect.stringContaining("--from debootstrap"),
    });
    expect(await isPresent()).toBe(false);
  });

  it("ends when the caller says so", async () => {
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(pull(registry.image, controller.signal)).rejects.toThrow("enough");
    expect(await isPresent()).toBe(false);
  });
});

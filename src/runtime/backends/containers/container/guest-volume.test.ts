import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import { afterEach, beforeAll, expect } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { DOCKER_START_MS, startDocker, type TestDaemon } from "../../../../../test/setup/docker.js";
import { requires } from "../../../../../test/setup/requires.js";
import { findPrebuilt } from "../../guest-runtime.js";
import { connectDocker } from "../daemon/connect.js";
import { GuestVolumes, reapGuestVolumes } from "./guest-volume.js";
import { hostLabels, LABEL, makerLabels } from "./labels.js";

const { describe, it } = requires("docker");
const HOURS = 60 * 60 * 1000;

describe("volumes with the guest", () => {
  let docker: TestDaemon;
  let client: Docker;
  const made: string[] = [];
  const build = `${findPrebuilt().version}-test`;

  beforeAll(async () => {
    docker = await startDocker();
    client = await connectDocker({ host: docker.host });
  }, DOCKER_START_MS);
  afterEach(async () => {
    for (const name of made.splice(0))
      await client
        .getVolume(name)
        .remove({ force: true })
        .catch(() => undefined);
  });

  async function make(labels: Record<string, string>): Promise<string> {
    const name = `skerry-guest-test-${randomBytes(6).toString("hex")}`;
    await client.createVolume({ Name: name, Labels: labels });
    made.push(name);
    return name;
  }

  const isThere = (name: string) =>
    client
      .getVolume(name)
      .inspect()
      .then(
        () => true,
        () => false,
      );

  it("go when they are of another build, or half made by a process that is gone, and nothing uses them", async () => {
    const maker = `999999999-1-${randomBytes(6).toString("hex")}`;
    const old = { ...hostLabels(), [LABEL.guest]: "an-old-build-test" };
    const volumes = {
      old: await make(old),
      used: await make(old),
      foreign: await make({ ...old, [LABEL.host]: "another" }),
      current: await make({ ...hostLabels(), [LABEL.guest]: build }),
      halfMade: await make({ ...hostLabels(), [LABEL.guest]: build, [LABEL.maker]: maker }),
      notOurs: await make({ ...hostLabels() }),
    };
    const container = await client.createContainer({
      Image: docker.image,
      Entrypoint: ["none"],
      HostConfig: { Binds: [`${volumes.used}:/opt/skerry`] },
    });
    const left = async () => {
      const names = Object.entries(volumes).map(async ([what, name]) =>
        (await isThere(name)) ? [what] : [],
      );
      return (await Promise.all(names)).flat();
    };
    try {
      await reapGuestVolumes(client, []);
      expect((await left()).length).toBe(6);
      await reapGuestVolumes(client, [maker], Date.now() + 2 * HOURS);
      expect(await left()).toEqual(["used", "foreign", "current", "notOurs"]);
    } finally {
      await container.remove({ force: true });
    }
  });

  it("go at once when no guest starts from one whose maker is gone, and never while it lives", async () => {
    const stateDir = temporaryDirectory();
    const labels = { ...makerLabels(stateDir, "x"), [LABEL.guest]: build };
    const gone = await make({ ...labels, [LABEL.maker]: "999999999-1-x" });
    const living = await make(labels);
    // As the daemon makes it where a container wants one that is not there.
    const unlabelled = await make({});
    const foreign = await make({ ...labels, [LABEL.maker]: "999999999-1-x", [LABEL.host]: "another" });
    const volumes = new GuestVolumes(client, stateDir);
    for (const name of [gone, living, unlabelled, foreign])
      await volumes.forget({ kind: "volume", name, program: "ready" }, "x64");
    expect(await Promise.all([gone, living, unlabelled, foreign].map(isThere))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });
});

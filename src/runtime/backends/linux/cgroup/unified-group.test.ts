import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { findUnifiedGroup, HOST_LEAF, type UnifiedHost } from "./unified-group.js";

const STRANGER = 1;
let mount: string;

beforeEach(() => {
  mount = temporaryDirectory();
});

/** A tree as version 2 shows it, of ordinary files: what is decided from it is the same. The true root has no type. */
function group(
  path: string,
  processes: readonly number[] = [],
  controllers = "cpuset cpu io memory pids",
): void {
  const directory = join(mount, path);
  mkdirSync(directory, { recursive: true });
  if (path !== "/") writeFileSync(join(directory, "cgroup.type"), "domain\n");
  writeFileSync(join(directory, "cgroup.controllers"), controllers);
  writeFileSync(join(directory, "cgroup.subtree_control"), "");
  writeFileSync(join(directory, "cgroup.procs"), processes.map((pid) => `${pid}\n`).join(""));
}

function find(own: string, { isRoot = false, delegated = [] as readonly string[] } = {}) {
  const asked: string[] = [];
  const host: UnifiedHost = {
    mount,
    own,
    proc: "/proc",
    isRoot,
    isDelegated: (unit, manager) => {
      asked.push(`${manager} ${unit}`);
      return delegated.includes(unit);
    },
  };
  const found = findUnifiedGroup(host);
  return {
    found: "path" in found ? { ...found, path: found.path.slice(mount.length) || "/" } : found,
    asked,
  };
}

describe("where the groups of sandboxes go under version 2", () => {
  it("is below a service that was given its group, as root and as another user", () => {
    const own = "/system.slice/agent.service";
    for (const path of ["/", "/system.slice", own]) group(path);
    group(own, [process.pid]);
    const found = { path: own, leave: true };
    expect(find(own, { isRoot: true, delegated: ["agent.service"] })).toEqual({
      found,
      asked: ["system agent.service"],
    });
    // systemd makes a user the owner of a group only when it gives it away.
    expect(find(own)).toEqual({ found, asked: [] });
  });

  it("is the hierarchy's root for root in a service that was not given its group", () => {
    const own = "/system.slice/agent.service";
    for (const path of ["/", "/system.slice"]) group(path);
    group(own, [process.pid]);
    expect(find(own, { isRoot: true }).found).toEqual({ path: "/", leave: false });
  });

  it("is the hierarchy's root for root in a login, whose shell is not ours to move", () => {
    const own = "/user.slice/user-0.slice/session-1.scope";
    for (const path of ["/", "/user.slice", "/user.slice/user-0.slice"]) group(path);
    group(own, [STRANGER, process.pid]);
    expect(find(own, { isRoot: true })).toEqual({ found: { path: "/", leave: false }, asked: [] });
  });

  it("is beside the leaf that an earlier process of ours has left for", () => {
    const leaf = `/system.slice/agent.service/${HOST_LEAF}`;
    for (const path of ["/", "/system.slice", "/system.slice/agent.service"]) group(path);
    group(leaf, [STRANGER, process.pid]);
    expect(find(leaf).found).toEqual({ path: "/system.slice/agent.service", leave: false });
  });

  it("is beside the subgroup that systemd's DelegateSubgroup made", () => {
    const own = "/system.slice/agent.service/main";
    for (const path of ["/", "/system.slice", "/system.slice/agent.service"]) group(path);
    group(own, [STRANGER, process.pid]);
    expect(find(own).found).toEqual({ path: "/system.slice/agent.service", leave: false });
  });

  it("is a container's own group, also for its root, who is not told to be root", () => {
    group("/", [process.pid]);
    // The root of a container's view is a group like any other.
    writeFileSync(join(mount, "cgroup.type"), "domain\n");
    expect(find("/", { isRoot: true }).found).toEqual({ path: "/", leave: true });
    group("/", [STRANGER, process.pid]);
    writeFileSync(join(mount, "cgroup.type"), "domain\n");
    expect(find("/", { isRoot: true }).found).toEqual({
      what: "a process that is not Skerry's shares its control group",
      remedy: expect.stringContaining("first process"),
      isOwnUnit: false,
    });
  });

  it("is nowhere in a user's slices, nor in the group of the user's manager", () => {
    const manager = "/user.slice/user-7.slice/user@7.service";
    for (const path of ["/", "/user.slice", "/user.slice/user-7.slice", manager, `${manager}/app.slice`])
      group(path);
    group(`${manager}/init.scope`, [STRANGER, process.pid]);
    group(`${manager}/app.slice/x.service`, [process.pid]);
    expect(find(`${manager}/init.scope`)).toMatchObject({ found: { isOwnUnit: false }, asked: [] });
    expect(find(`${manager}/app.slice/x.service`)).toEqual({
      found: {
        what: "no control group was given to us",
        remedy: "Set Delegate=yes in x.service.",
        isOwnUnit: true,
      },
      asked: ["user x.service"],
    });
  });

  it("is the scope that the user's systemd made for us, without asking again", () => {
    const own = "/user.slice/user-7.slice/user@7.service/app.slice/skerry-12-0123abcd.scope";
    group("/");
    group(own, [process.pid]);
    expect(find(own)).toEqual({ found: { path: own, leave: true }, asked: [] });
  });

  it("is nowhere without the memory controller, as where version 1 has it", () => {
    group("/", [], "");
    expect(find("/", { isRoot: true }).found).toMatchObject({
      what: "the control group that we are in has no memory controller",
    });
  });
});

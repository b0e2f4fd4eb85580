import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SandboxRuntimeConfigSchema } from "@anthropic-ai/sandbox-runtime";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { DEFAULT_CONFIG } from "../../../core/config/index.js";
import type { CreateSpec } from "../backend.js";
import { createSettings, type SettingsInput } from "./library-settings.js";
import { macOrders } from "./macos.js";
import { loadUserSettings, parseUserSettings, type UserSettings } from "./user-settings.js";

const NOTHING: UserSettings = { denyRead: [], ignoreViolations: {}, observe: false };
const INPUT: SettingsInput = {
  workspace: "/var/lib/skerry/ephemeral/x/workspace",
  runtimes: ["/var/lib/skerry/runtime/a", "/var/lib/skerry/runtime/srt"],
  bubblewrap: "/usr/bin/bwrap",
  nothing: "/var/lib/skerry/runtime/srt/nothing",
  filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
  own: NOTHING,
  root: ["dev", "etc", "home", "proc", "tmp", "usr", "var"],
};

describe("the settings of a session", () => {
  it("allow the workspace, programs and nothing else", () => {
    expect(createSettings(INPUT)).toEqual({
      network: {
        allowedDomains: [],
        deniedDomains: [],
        allowAllUnixSockets: true,
        allowLocalBinding: true,
        httpProxyPort: 9,
        socksProxyPort: 9,
      },
      filesystem: {
        denyRead: ["/etc", "/home", "/tmp", "/var"],
        allowRead: ["/var/lib/skerry/runtime/a", "/var/lib/skerry/runtime/srt"],
        allowWrite: ["/var/lib/skerry/ephemeral/x/workspace"],
        denyWrite: [],
      },
      ignoreViolations: {},
      bwrapPath: "/usr/bin/bwrap",
      socatPath: "/var/lib/skerry/runtime/srt/nothing",
      ripgrep: { command: "/var/lib/skerry/runtime/srt/nothing" },
      javaAgentJarPath: "/var/lib/skerry/runtime/srt/nothing",
    });
  });

  it("share what the configuration shares, without what it and the user deny", () => {
    const filesystem = {
      allowRead: ["/srv/data/"],
      allowWrite: ["/srv/out/../out"],
      denyRead: ["/usr/bin", "/no/such/path", "~/.ssh", "**/*.key", "relative"],
      denyWrite: ["**/.git/hooks"],
    };
    const own = { denyRead: ["/srv/data/secret"], ignoreViolations: { "*": ["/x"] }, observe: true };
    const settings = createSettings({ ...INPUT, filesystem, own });
    expect(settings.filesystem).toEqual({
      denyRead: ["/etc", "/home", "/tmp", "/var", "/usr/bin", "/srv/data/secret"],
      allowRead: [...INPUT.runtimes, "/srv/data/"],
      allowWrite: [INPUT.workspace, "/srv/out"],
      denyWrite: [],
    });
    expect([settings.network.allowAllUnixSockets, settings.ignoreViolations]).toEqual([
      false,
      { "*": ["/x"] },
    ]);
  });

  it("are what this version of sandbox-runtime understands, on macOS too", () => {
    const { root: _, ...input } = INPUT;
    const spec = {
      directory: { path: "/private/tmp/session" },
      filesystem: INPUT.filesystem,
      limits: { openFiles: 64, fileSizeMb: 1 },
    } as CreateSpec;
    const runtime = { directory: "/r", program: "/r/host.mjs", nothing: "/r/nothing" };
    const mac = macOrders(spec, runtime, { directory: "/g", guest: "/g/skerry-guest" }, NOTHING);
    for (const settings of [createSettings(input), mac.settings])
      expect(SandboxRuntimeConfigSchema.parse(settings)).toEqual(settings);
    expect(mac.settings.filesystem.allowWrite).toEqual(["/private/tmp/session/workspace"]);
    expect(mac.settings.network).toEqual({ allowedDomains: [], deniedDomains: [], allowLocalBinding: true });
  });
});

describe("a user's own settings", () => {
  it("may hide more and tell more", async () => {
    const content = {
      network: { allowAllUnixSockets: false },
      filesystem: { denyRead: ["/usr/local/secret"] },
      ignoreViolations: { "*": ["/usr/lib"] },
    };
    expect(await parseUserSettings(content, "test")).toEqual({
      denyRead: ["/usr/local/secret"],
      ignoreViolations: { "*": ["/usr/lib"] },
      observe: true,
    });
    expect(await parseUserSettings({}, "test")).toEqual(NOTHING);
  });

  it.each([
    ["opens the network", { network: { allowedDomains: ["example.com"] } }],
    ["opens a path", { filesystem: { allowWrite: ["/"] } }],
    ["switches the walls off", { filesystem: { disabled: true } }],
    ["hides a pattern, which would hold for what exists only", { filesystem: { denyRead: ["/usr/**"] } }],
    ["hides a relative path", { filesystem: { denyRead: ["secret"] } }],
    ["has a misspelt key", { filesytem: {} }],
    ["is a list", []],
  ])("are refused when one %s", async (_, content) => {
    await expect(parseUserSettings(content, "test")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("need not be there, unless they are named", async () => {
    const directory = temporaryDirectory();
    const path = join(directory, "settings.json");
    await expect(loadUserSettings(path)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    writeFileSync(path, "{");
    await expect(loadUserSettings(path)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    writeFileSync(path, "{}");
    expect(await loadUserSettings(path)).toEqual(NOTHING);
  });

  it("are looked for in the user's own directory", () => {
    expect(DEFAULT_CONFIG.sandbox.backends.srt.settingsPath).toBe("~/.skerry/srt-settings.json");
  });
});

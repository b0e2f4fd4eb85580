import { describe, expect, it } from "vitest";
import type { Diagnosis } from "../../../core/manager/index.js";
import type { Capabilities } from "../../../runtime/backends/index.js";
import { describeDiagnosis } from "./doctor.js";
import { describeVerdict } from "./verdict.js";

const paint = (_style: string, text: string) => text;
const ISOLATES = { isolates: true } as Capabilities;

const READY: Diagnosis = {
  ok: true,
  host: { system: "Linux 6.12", architecture: "x64", node: "v20.0.0", user: "root" },
  backends: [
    { name: "bubblewrap", available: true, version: "0.8.0", problems: [], capabilities: ISOLATES },
    {
      name: "subprocess",
      available: true,
      problems: [{ what: "subprocess does not isolate", remedy: "Use bubblewrap." }],
      capabilities: { isolates: false } as Capabilities,
    },
  ],
  languages: [{ name: "python", available: true, interpreter: "/usr/bin/python3", version: "3.11.2" }],
  checklist: [{ what: "every call is recorded", ok: true, detail: "the audit log can be written" }],
  fixes: [],
};
const missing = (name: string) => ({
  name,
  available: false,
  problems: [{ what: "Docker is not installed", remedy: "apt-get install docker.io" }],
  capabilities: ISOLATES,
});
const FIX = { what: "Docker is not installed", command: "apt-get install docker.io" };

describe("the verdict of doctor", () => {
  it("is one line where nothing is to be done", () => {
    expect(describeVerdict(READY, paint)).toBe("Ready: bubblewrap.\nskerry doctor -v has the details.\n");
  });

  it("counts what could be better, each remedy once, and says it", () => {
    const diagnosis = {
      ...READY,
      backends: [...READY.backends, missing("docker"), missing("gvisor")],
      checklist: [{ what: "a policy says what agents may do", ok: false, detail: "none: \x1b[2J" }],
      fixes: [FIX],
    };
    expect(describeVerdict(diagnosis, paint)).toBe(
      [
        "Ready: bubblewrap. 2 suggestions.",
        "  Docker is not installed",
        "    apt-get install docker.io",
        "  not yet: a policy says what agents may do",
        "    none: \\x1b[2J",
        "skerry doctor --fix installs what is missing; skerry doctor -v has the details.",
        "",
      ].join("\n"),
    );
  });

  it("says that a host is not ready, and what each backend lacks", () => {
    const diagnosis = {
      ...READY,
      ok: false,
      backends: [missing("docker")],
      languages: [{ name: "python", available: false }],
      fixes: [FIX, { what: "no interpreter for python", command: "apt-get install python3" }],
    };
    expect(describeVerdict(diagnosis, paint)).toBe(
      [
        "Not ready: nothing isolates code here. 2 suggestions.",
        "  Docker is not installed",
        "    apt-get install docker.io",
        "  no interpreter for python",
        "    apt-get install python3",
        "skerry doctor --fix installs what is missing; skerry doctor -v has the details.",
        "",
      ].join("\n"),
    );
  });

  it("stands before the details, too", () => {
    expect(describeDiagnosis(READY, paint, false).split("\n").slice(0, 3)).toEqual([
      "Ready: bubblewrap.",
      "",
      "Host",
    ]);
  });
});

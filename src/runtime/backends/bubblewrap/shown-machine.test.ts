import { expect } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

describe("the machine that programs see", () => {
  const run = async (command: string, limits: object = {}) => {
    const manager = openManager({ backend: "bubblewrap", limits });
    const { stdout, stderr } = await manager.execute({ command });
    return { lines: stdout.trim().split("\n"), stderr };
  };

  it("has python, and says which distribution it is", async () => {
    const { lines, stderr } = await run(
      "python -c 'print(6 * 7)'; . /etc/os-release; test -n \"$ID\" && echo known",
    );
    expect({ lines, stderr }).toEqual({ lines: ["42", "known"], stderr: "" });
  });

  requires("cgroups").it("has the memory and the processors of its limits", async () => {
    const { lines } = await run("free -m | awk '/Mem:/ { print $2 }'; nproc; head -1 /proc/meminfo", {
      memoryMb: 200,
      cpus: 1.5,
    });
    expect(lines).toEqual(["200", "2", expect.stringMatching(/^MemTotal: +204800 kB$/)]);
  });

  it("cannot be changed by them", async () => {
    const { stderr } = await run(
      "echo x > /proc/meminfo; echo x > /etc/os-release; ln -sf /bin/sh /opt/skerry/bin/python",
    );
    expect(stderr.match(/Read-only|Permission denied/g)).toHaveLength(3);
  });
});

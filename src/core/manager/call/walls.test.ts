import { beforeEach, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";

const real = requires("bubblewrap", "python3");
const SAFE = { language: "python", code: "print(42)" };

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

real.describe("a call that names its backend", () => {
  it.each([
    ["without any policy", {}],
    ["with a policy", { policy: "policies: { tools: { run_code: { risk_level: high } } }" }],
    ["in permissive mode", { securityMode: "permissive" as const }],
  ])("may not name one that is weaker than the manager's, %s", async (_, options) => {
    const manager = fixture.manager(options);
    const call = { ...SAFE, sessionId: "s", backend: "subprocess" };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "BACKEND_TOO_WEAK" });
    expect(await fixture.onlyRecord()).toMatchObject({ result: "denied", sandbox_id: null });
    expect(await manager.listSessions()).toEqual([]);
  });

  it("may name a stronger one, and gets it", async () => {
    const manager = fixture.manager({ backend: "subprocess" });
    expect(await manager.execute({ ...SAFE, backend: "bubblewrap" })).toMatchObject({
      success: true,
      sandboxType: "bubblewrap",
    });
    expect(await fixture.onlyRecord()).toMatchObject({ backend: "bubblewrap" });
  });

  it("may name one that is as strong, and none that is not there", async () => {
    const manager = fixture.manager({ backend: "subprocess" });
    expect(await manager.execute({ ...SAFE, backend: "subprocess" })).toMatchObject({ success: true });
    await expect(manager.execute({ ...SAFE, backend: "castle" })).rejects.toMatchObject({
      code: "BACKEND_UNKNOWN",
    });
    expect((await fixture.records()).map(({ result }) => result)).toEqual(["success", "error"]);
  });

  it("by what auto stands for keeps the session's sandbox, and so the other way round", async () => {
    for (const own of ["auto", "bubblewrap"]) {
      const manager = fixture.manager({ backend: own });
      const ids: string[] = [];
      for (const backend of [undefined, "bubblewrap", "auto", undefined]) {
        ids.push((await manager.execute({ ...SAFE, sessionId: own, backend })).sandboxId);
      }
      expect(new Set(ids).size).toBe(1);
    }
  });
});

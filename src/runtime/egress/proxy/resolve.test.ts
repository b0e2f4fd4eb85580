import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { egressRulesOfDomains } from "../rules/from-config.js";
import { parseHost } from "../rules/host.js";
import type { Resolve } from "./lookup-queue.js";
import { resolveChecked, systemResolve } from "./resolve.js";

const named = egressRulesOfDomains(["api.example"], "--allow-domain");
// No option takes this name; what resolves to it is refused all the same.
const rules = { ...named, allowedDomains: [...named.allowedDomains, { value: "localhost", rule: "" }] };
const api = parseHost("api.example")!;
const answering =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses;

describe("resolveChecked", () => {
  it("keeps the addresses that the rules allow, each once and in one spelling", async () => {
    const resolve = answering("127.0.0.1", "1.1.1.1", "::ffff:1.1.1.1", "2606:4700:0:0::1111", "10.0.0.1");
    expect(await resolveChecked(rules, api, 443, resolve)).toEqual({
      addresses: ["1.1.1.1", "2606:4700::1111"],
    });
  });

  it("refuses a name of which every address is forbidden", async () => {
    const refused = await resolveChecked(rules, api, 443, answering("127.0.0.1", "::1"));
    expect(refused).toMatchObject({
      refused: {
        allowed: false,
        why: "api.example resolves to 127.0.0.1 (loopback), which is not allowed by rule --allow-domain",
      },
    });
  });

  it("looks no address up: it is checked as it is", async () => {
    const never: Resolve = () => Promise.reject(new Error("asked"));
    const open = { ...rules, allowedIps: [{ value: "192.0.2.0/24", rule: "ips" }] };
    expect(await resolveChecked(open, parseHost("192.0.2.1")!, 443, never)).toEqual({
      addresses: ["192.0.2.1"],
    });
    expect(await resolveChecked(open, parseHost("127.1")!, 443, never)).toMatchObject({
      refused: { allowed: false },
    });
  });

  it("says why there is no address", async () => {
    const failing =
      (code: string): Resolve =>
      () =>
        Promise.reject(Object.assign(new Error("x"), { code }));
    expect(await resolveChecked(rules, api, 443, failing("ENOTFOUND"))).toEqual({
      failed: "api.example does not exist",
    });
    expect(await resolveChecked(rules, api, 443, failing("EAI_AGAIN"))).toEqual({
      failed: "api.example could not be resolved (EAI_AGAIN)",
    });
    expect(await resolveChecked(rules, api, 443, answering())).toEqual({
      failed: "api.example has no address",
    });
  });

  it("waits for a name as long as it is told, and for its caller", async () => {
    const silent: Resolve = () => new Promise(() => {});
    expect(await resolveChecked(rules, api, 443, silent, { resolveMs: 30 })).toEqual({
      failed: "api.example was not resolved within 0.03 s",
    });
    const caller = new AbortController();
    const asked = resolveChecked(rules, api, 443, silent, { signal: caller.signal });
    caller.abort();
    expect(await asked).toEqual({ failed: "api.example could not be resolved" });
  });

  it("tells the resolver that the caller has left", async () => {
    let told: AbortSignal | undefined;
    const resolve: Resolve = (_, signal) => {
      told = signal;
      return new Promise(() => {});
    };
    await resolveChecked(rules, api, 443, resolve, { resolveMs: 20 });
    if (!told!.aborted) await once(told!, "abort");
    expect(told!.aborted).toBe(true);
  });
});

describe("systemResolve", () => {
  it("reads the names of this machine, and they are refused", async () => {
    expect(readFileSync("/etc/hosts", "utf8")).toMatch(/^127\.0\.0\.1\s.*\blocalhost\b/m);
    expect(await systemResolve("localhost")).toContain("127.0.0.1");
    expect(await resolveChecked(rules, parseHost("localhost")!, 443)).toMatchObject({
      refused: {
        why: expect.stringMatching(
          /^localhost resolves to \S+ \(loopback\), which is not allowed by rule --allow-domain$/,
        ),
      },
    });
  });
});

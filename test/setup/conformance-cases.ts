import { describe, it } from "vitest";
import { parseConfig } from "../../src/core/config/index.js";
import { type ConformanceOptions, loadConformanceSuite } from "../../src/core/testing/conformance.js";
import type { requires } from "./requires.js";
import { openTcpForwarder } from "./tcp-forwarder.js";

/** What depends on where the daemon is. The walls are the same, and all of it a second time takes minutes. */
export const BY_DISTANCE = /memory|session|reaped|^(?!limits).*files/;

/** The tests of one backend: the whole suite, or what of it has such a title. */
export async function describeConformance(
  title: string,
  target: ConformanceOptions,
  { only = /./, it: run = it }: { only?: RegExp | undefined; it?: ReturnType<typeof requires>["it"] } = {},
): Promise<void> {
  const suite = await loadConformanceSuite(target);
  describe(`backend ${title}`, () => {
    for (const each of suite.filter((promise) => only.test(promise.title))) {
      run(
        each.skip === undefined ? each.title : `${each.title} (skipped: ${each.skip})`,
        { skip: each.skip !== undefined, timeout: 180_000 },
        each.run,
      );
    }
  });
}

export interface ContainerTarget {
  readonly name: "docker" | "gvisor";
  /** Undefined: there is no daemon, and everything is skipped. */
  readonly host: string | undefined;
  readonly shareFiles?: "always" | "never" | "auto";
  /** Behind TCP the daemon could be on any machine: nothing of this one's files or groups is used. */
  readonly isElsewhere?: boolean;
}

/** A backend of containers, in front of this daemon. */
export async function containerTarget(target: ContainerTarget): Promise<ConformanceOptions> {
  const { name, isElsewhere = false, shareFiles = isElsewhere ? "auto" : "always" } = target;
  const host =
    isElsewhere && target.host !== undefined ? (await openTcpForwarder(target.host)).host : target.host;
  const docker = { ...(host !== undefined && { host }), shareFiles };
  return { name, config: await parseConfig({ sandbox: { backends: { docker } } }) };
}

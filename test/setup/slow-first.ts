import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take the longest, in the order in which they begin: so that no worker is left alone with one of them at the
 * end. Those that need a Docker daemon come second: its image is being made meanwhile.
 */
const SLOW: readonly RegExp[] = [
  /^test\/package\.test/,
  /^test\/attacks\/attacks\.test/,
  /^test\/corpus\//,
  /^test\/e2e\/(server-kill|cluster)\.test/,
  /^src\/testing\/conformance\.test/,
  /^test\/attacks\//,
  /conformance-/,
  /^test\/(readme|docs|docker)/,
  /^test\/(network|hostile|guest|e2e)\//,
  /^src\/(manager|backends)\//,
];

/** Without a cache of earlier runs, as in CI, Vitest would start the largest files first. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const path = relative(this.ctx.config.root, moduleId);
      const found = SLOW.findIndex((pattern) => pattern.test(path));
      return found === -1 ? SLOW.length : found;
    };
    const sorted = await super.sort(files);
    return sorted
      .map((file) => ({ file, at: place(file) }))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file);
  }
}

import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The slowest files, in the order in which they start, so that none of them is the last one running. Files that need a
 * Docker daemon are not first: its image is built meanwhile.
 */
const SLOW: readonly RegExp[] = [
  /^test\/package\.test/,
  /^test\/attacks\/attacks\.test/,
  /^test\/corpus\//,
  /^test\/e2e\/(server-kill|server-load|cluster)\./,
  /\/testing\/conformance\.test/,
  /^test\/attacks\//,
  /conformance-/,
  /^test\/(readme|docs|docker)/,
  /^test\/(network|hostile|guest|e2e)\//,
  /\/(manager|backends)\//,
];

/** Without a cache of earlier runs, as in CI, Vitest would start the largest files first. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const path = relative(this.ctx.config.root, moduleId);
      const found = SLOW.findIndex((pattern) => pattern.test(path));
      return found === -1 ? SLOW.length : found;
    };
    const sorted = await super.sort(files);
    return sorted
      .map((file) => ({ file, at: rank(file) }))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file);
  }
}

// After tsc: removes from dist/ what has no source in src/ any more, and makes the command executable.
import { chmodSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");
const target = join(root, "dist");

/** Every file below a directory, relative to it. */
function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath ?? entry.path, entry.name)));
}

const isBuilt = (file) =>
  /\.(?:d\.ts|js)$/.test(file) && existsSync(join(source, file.replace(/\.(?:d\.ts|js)$/, ".ts")));
const isForTests = (file) => /(?:\.test|\/simulate)\.(?:d\.ts|js)$/.test(file);

for (const file of filesIn(target)) {
  if (!isBuilt(file) || isForTests(file)) rmSync(join(target, file));
}
chmodSync(join(target, "cli/main.js"), 0o755);

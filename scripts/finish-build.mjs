// After tsc: brings dist/ in line with src/. Copies what tsc does not (profiles, data), removes what has no source
// any more, and makes the command executable.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
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

const isAsset = (file) => !/\.(ts|tsx|md)$/.test(file);
const hasSource = (file) =>
  existsSync(join(source, file)) || existsSync(join(source, file.replace(/(\.d)?\.(ts|js)$/, ".ts")));

for (const file of filesIn(source).filter(isAsset)) {
  mkdirSync(dirname(join(target, file)), { recursive: true });
  copyFileSync(join(source, file), join(target, file));
}
for (const file of filesIn(target)) {
  if (!hasSource(file) || /\.test\.(d\.ts|js)$/.test(file)) rmSync(join(target, file));
}
chmodSync(join(target, "cli/main.js"), 0o755);

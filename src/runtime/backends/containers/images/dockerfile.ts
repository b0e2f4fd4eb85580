import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_DIRECTORY } from "./image-build.js";

/** The image that the Dockerfile starts from. */
export function baseImageName(dockerfile = readDockerfile()): string {
  return /^ARG BASE=(\S+)$/m.exec(dockerfile)![1]!;
}

/** The lines of the Dockerfile's last stage that describe the image, in the form that `docker import` takes. */
export function imageChanges(
  labels: Readonly<Record<string, string>>,
  dockerfile = readDockerfile(),
): string[] {
  const lines = dockerfile.split("\n");
  const last = lines.findLastIndex((line) => line.startsWith("FROM "));
  const described = lines
    .slice(last)
    .filter((line) => /^(?:ENV|LABEL|USER|WORKDIR|ENTRYPOINT) /.test(line) && !line.includes("${"));
  return [
    ...described,
    ...Object.entries(labels).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`),
  ];
}

function readDockerfile(): string {
  return readFileSync(join(IMAGE_DIRECTORY, "Dockerfile"), "utf8");
}

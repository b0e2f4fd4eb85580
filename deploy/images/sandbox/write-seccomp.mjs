// Writes two system call filters as `docker run --security-opt seccomp=…` reads them: that of sandboxes, and that of a container
// which makes sandboxes with bubblewrap.
//   npm run build && node deploy/images/sandbox/write-seccomp.mjs
import { writeFileSync } from "node:fs";
import { CONTAINER_PROFILE } from "../../../dist/runtime/backends/linux/seccomp/container-profile.js";
import { PROFILE } from "../../../dist/runtime/backends/linux/seccomp/profile.js";

const write = (path, profile) =>
  writeFileSync(new URL(path, import.meta.url), `${JSON.stringify(profile, null, 2)}\n`);
write("seccomp.json", PROFILE);
write("../../container/seccomp-skerry.json", CONTAINER_PROFILE);

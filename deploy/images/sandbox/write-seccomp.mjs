// Writes seccomp.json: the system call filter of the sandboxes, as `docker run --security-opt seccomp=…` reads it.
//   npm run build && node deploy/images/sandbox/write-seccomp.mjs
import { writeFileSync } from "node:fs";
import { PROFILE } from "../../../dist/runtime/backends/linux/seccomp/profile.js";

writeFileSync(new URL("seccomp.json", import.meta.url), `${JSON.stringify(PROFILE, null, 2)}\n`);

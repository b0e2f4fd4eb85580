// What a person sees first: `works` runs a program and says what limits hold; `refuses REASON` expects a refusal that names it.
import { spawnSync } from "node:child_process";
import { report } from "./report.mjs";

const skerry = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["dist/bin/skerry.cjs", ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
};
const expectThat = (holds, found) => {
  if (!holds) throw new Error(JSON.stringify(found));
};

const [use, reason] = process.argv.slice(2);
const found = skerry("run", "examples/hello.py");
if (use === "works") {
  await report("runs a program", async () =>
    expectThat(found.status === 0 && found.stdout.includes("Hello"), found),
  );
  await report("the doctor finds an isolating backend", async () =>
    expectThat(skerry("doctor").status === 0, skerry("doctor")),
  );
} else {
  await report(`refuses to run a program, and names ${reason}`, async () =>
    expectThat(found.status !== 0 && found.stderr.includes(reason), found),
  );
  await report(`the doctor names ${reason}`, async () => {
    const doctor = skerry("doctor");
    expectThat(doctor.stdout.includes(reason), doctor);
  });
}

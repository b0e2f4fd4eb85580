import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunningSandbox } from "../../src/manager.js";
import type { Attack } from "./attack.js";
import { survives, unwell } from "./survival.js";

const group = "resources" as const;
const MEBIBYTE = 1024 * 1024;
/** What is observed of a host that is well. */
const WELL = { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 1 };

/** Output and files that want to keep the host busy, or fill its memory. */
export const busyHostAttacks: readonly Attack[] = [
  {
    name: "prints for ever",
    group,
    run: (context) => survives(context, (sandbox) => sandbox.exec(["yes"], { timeoutMs: 10_000 })),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "output-limit",
    simulated: { stdout: "", reason: "output-limit", observed: { ...WELL, grewMb: 900 } },
  },
  {
    name: "prints for ever to a caller that streams",
    group,
    run: (context) =>
      survives(context, async (sandbox) => {
        const running = sandbox.exec(["yes"], { timeoutMs: 2000 });
        for await (const event of running) if (event.type === "exit") return event.result;
        return running;
      }),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "timeout",
    simulated: { stdout: "", reason: "timeout", observed: { ...WELL, grewMb: 900 } },
  },
  {
    name: "prints a gigabyte without a newline",
    group,
    run: (context) =>
      survives(context, (sandbox) =>
        sandbox.exec(["head", "-c", "1000000000", "/dev/zero"], { timeoutMs: 10_000 }),
      ),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "output-limit",
    simulated: { stdout: "", reason: "exited", observed: WELL },
  },
  {
    name: "prints while its output is not read",
    group,
    about: "A caller that streams and does not iterate holds the program back.",
    run: (context) =>
      survives(context, async (sandbox) => {
        const running = sandbox.exec(["sh", "-c", "yes & yes >&2"], { timeoutMs: 2500 });
        const iterator = running[Symbol.asyncIterator]();
        await iterator.next();
        await delay(1500);
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
          if (next.value.type === "exit") return next.value.result;
        }
        return running;
      }),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "timeout",
    simulated: { stdout: "", reason: "timeout", observed: { ...WELL, grewMb: 900 } },
  },
  {
    name: "goes on after it closed its output",
    group,
    run: async ({ sandbox, python }) => {
      const startedAt = Date.now();
      const { reason } = await python(sandbox, "os.closerange(0, 100)\nwhile True: time.sleep(1)", 500);
      return { stdout: "", reason, observed: { tookMs: Date.now() - startedAt } };
    },
    succeeded: ({ reason, observed }) => reason !== "timeout" || Number(observed?.tookMs) > 20_000,
    simulated: { stdout: "", reason: "exited", observed: { tookMs: 10 } },
  },
  {
    name: "keeps the host busy with a workspace full of files",
    group,
    fresh: true,
    run: (context) =>
      survives(context, async (sandbox) => {
        await context.python(
          sandbox,
          `
for directory in range(20):
    os.mkdir("d%d" % directory)
    for number in range(2000): os.close(os.open("d%d/%d" % (directory, number), os.O_CREAT | os.O_WRONLY))`,
          20_000,
        );
        await sandbox.files.list(".", { recursive: true });
        return context.python(sandbox, "pass");
      }),
    succeeded: unwell,
    simulated: { stdout: "", observed: { ...WELL, maxLagMs: 9000 } },
  },
  {
    name: "makes 10,000 nested directories",
    group,
    fresh: true,
    run: async (context) => {
      const before = readdirSync(join(context.facts.stateDir, "ephemeral"));
      const deep = await context.newSandbox();
      const made = readdirSync(join(context.facts.stateDir, "ephemeral")).filter(
        (name) => !before.includes(name),
      );
      const outcome = await survives(context, async () => {
        const result = await context.python(
          deep,
          `
os.mkdir("deep"); os.chdir("deep")
for _ in range(10000): os.mkdir("d"); os.chdir("d")
won("made")`,
          // On a disk that others use too, every directory takes its time, and again when it is removed.
          60_000,
        );
        // Both may refuse, but must come to an end.
        await deep.files.list(".", { recursive: true }).catch(() => undefined);
        await deep.files.remove("deep", { recursive: true }).catch(() => undefined);
        await deep.stop();
        return result;
      });
      const left = made.filter((name) => existsSync(join(context.facts.stateDir, "ephemeral", name)));
      return { ...outcome, observed: { ...outcome.observed, made: made.length, left: left.length } };
    },
    succeeded: (outcome, { marker }) =>
      unwell(outcome) ||
      outcome.observed?.made !== 1 ||
      outcome.observed.left !== 0 ||
      !outcome.stdout.includes(marker),
    simulated: { stdout: "", observed: { ...WELL, made: 1, left: 1 } },
  },
  {
    name: "has a sparse file of 8 EiB downloaded",
    group,
    fresh: true,
    besideCells: true,
    run: (context) =>
      survives(context, async (sandbox) => {
        const result = await context.python(
          sandbox,
          `
for size in (2**63 - 1, 2**62, 2**60, 2**44 - 4096, 2**43, 2**40, 2**36):
    fd = os.open("huge", os.O_CREAT | os.O_WRONLY)
    try: os.ftruncate(fd, size)
    except OSError: continue
    finally: os.close(fd)
    print(size); break`,
        );
        const download = await sandbox.files.read("huge").then(
          (content) => `read ${content.length}`,
          (error) => String(error.code),
        );
        const streamed = await drain(sandbox, "huge", 200 * MEBIBYTE);
        return {
          ...result,
          stdout: `${download} ${streamed}`,
          reason: download === "FILE_TOO_LARGE" ? "exited" : "memory",
        };
      }),
    succeeded: (outcome) =>
      unwell(outcome) || !/^FILE_TOO_LARGE (FILE_TOO_LARGE|[0-9]{1,8})$/.test(outcome.stdout),
    simulated: { stdout: "read 9223372036854775807 1", observed: WELL },
  },
];

/** How many bytes a stream gives before it ends, fails or has given too many. */
async function drain(sandbox: RunningSandbox, path: string, enough: number): Promise<string> {
  let bytes = 0;
  try {
    for await (const chunk of await sandbox.files.readStream(path)) {
      bytes += (chunk as Buffer).length;
      if (bytes > enough) break;
    }
    return String(bytes);
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

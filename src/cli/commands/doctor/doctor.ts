import { spawnSync } from "node:child_process";
import type { Config } from "../../../core/config/index.js";
import { type Diagnosis, diagnose } from "../../../core/manager/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { REGISTER_RUNSC } from "../../../runtime/backends/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { readConfig } from "../../open/index.js";
import { formatTable, jsonText, paintFor, reportError, stderr, stdout } from "../../output/index.js";
import { describeVerdict, verdictOf } from "./verdict.js";

/** The exit status when this host cannot run code in isolation. */
const UNAVAILABLE = 69;

export interface DoctorOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly fix?: boolean;
  readonly verbose?: boolean;
}

/** `skerry doctor`: what this host can enforce; with --fix also gets what is missing. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const config = await readConfig(options);
  let diagnosis = await diagnose(config);
  if (options.fix && diagnosis.fixes.length > 0) {
    await applyFixes(diagnosis.fixes, config);
    diagnosis = await diagnose(config);
  }
  const paint = paintFor(stdout, options.color);
  if (options.json) await stdout.write(`${jsonText(diagnosis)}\n`);
  else if (!options.verbose) await stdout.write(describeVerdict(diagnosis, paint));
  else await stdout.write(describeDiagnosis(diagnosis, paint, stdout.isTerminal && isUtf8(process.env)));
  return diagnosis.ok ? 0 : UNAVAILABLE;
}

/** All of the diagnosis for a person. */
export function describeDiagnosis(diagnosis: Diagnosis, paint: Paint, marks: boolean): string {
  const yes = paint("green", marks ? "✓" : "yes");
  const no = paint("red", marks ? "✗" : "no");
  const mark = (good: boolean) => (good ? yes : no);
  const title = (text: string) => `\n${paint("bold", text)}\n`;
  const parts = [`${verdictOf(diagnosis, paint)}\n`];

  parts.push(title("Host"));
  parts.push(
    formatTable(
      Object.entries(diagnosis.host).map(([name, value]) => [`  ${name}`, escapeUnsafe(plain(value))]),
    ),
  );

  parts.push(title("Backends"));
  for (const { name, available, version, problems, capabilities } of diagnosis.backends) {
    parts.push(`  ${mark(available)} ${name}${version === undefined ? "" : ` ${escapeUnsafe(version)}`}\n`);
    if (available) {
      const enforced = Object.entries(capabilities).map(([key, value]) =>
        typeof value === "boolean"
          ? [`      ${words(key)}`, mark(value)]
          : [`      ${words(key)}`, plain(value)],
      );
      parts.push(formatTable(enforced));
    }
    for (const { what, remedy } of problems) {
      parts.push(`      ${paint("yellow", escapeUnsafe(what))}\n        ${escapeUnsafe(remedy)}\n`);
    }
  }

  parts.push(title("Languages"));
  parts.push(
    formatTable(
      diagnosis.languages.map(({ name, available, interpreter, version }) => [
        `  ${mark(available)} ${name}`,
        escapeUnsafe([interpreter, version].filter((each) => each !== undefined).join(" ")),
      ]),
    ),
  );

  parts.push(title("Before agents are let in"));
  for (const { what, ok, detail } of diagnosis.checklist) {
    parts.push(`  ${mark(ok)} ${escapeUnsafe(what)}\n      ${escapeUnsafe(detail)}\n`);
  }

  if (diagnosis.fixes.length > 0) {
    const others = diagnosis.fixes.filter(({ command }) => command !== REGISTER_RUNSC);
    parts.push(title(`To get what is missing, run ${REGISTER_RUNSC}${others.length > 0 ? ", or:" : "."}`));
    for (const { what, command } of others)
      parts.push(`  ${escapeUnsafe(command)}   # ${escapeUnsafe(what)}\n`);
  }
  return parts.join("");
}

/** "memoryLimit" → "memory limit". */
function words(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function plain(value: unknown): string {
  return typeof value === "string"
    ? value
    : typeof value === "boolean"
      ? value
        ? "yes"
        : "no"
      : JSON.stringify(value);
}

function isUtf8(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
}

/** Has the Docker daemon of the configuration know gVisor. */
async function register({ sandbox }: Config): Promise<void> {
  const { findRunsc, offerRunsc } = await import("../../../runtime/backends/index.js");
  const { connectDocker, findDocker } = await import("../../../runtime/backends/index.js");
  const { readDaemonFacts } = await import("../../../runtime/backends/index.js");
  const path = findRunsc();
  const { host } = sandbox.backends.docker;
  try {
    if (path === undefined) {
      throw new SandboxError("BACKEND_UNAVAILABLE", "gVisor is not installed", {
        hint: "apt-get install runsc",
      });
    }
    const runtimes = async () => (await readDaemonFacts(await connectDocker({ host }), true)).runtimes;
    const said = await offerRunsc(path, { address: findDocker({ host }), runtimes });
    await stderr.write(`skerry: ${escapeUnsafe(said)}\n`);
  } catch (error) {
    await reportError(error, false);
  }
}

/** Our own commands are this program's, under whatever name it was started. */
function ownCommand(command: string): string {
  const self = [process.execPath, process.argv[1] ?? "skerry"].map(
    (each) => `'${each.replaceAll("'", "'\\''")}'`,
  );
  return command.replace(/^skerry /, `${self.join(" ")} `);
}

/** Runs the commands as root, or says that a person must. What they print goes to standard error. */
async function applyFixes(fixes: Diagnosis["fixes"], config: Config): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status !== 0) {
    await stderr.write("skerry: installing needs root; run these as root, or with sudo:\n");
    for (const { command } of fixes) await stderr.write(`  ${command}\n`);
    return;
  }
  for (const { what, command } of fixes) {
    await stderr.write(`skerry: ${what}: ${command}\n`);
    if (isRoot && command === REGISTER_RUNSC) {
      await register(config);
      continue;
    }
    const argv = [...(isRoot ? [] : ["sudo", "-n"]), "sh", "-c", ownCommand(command)];
    const { status } = spawnSync(argv[0]!, argv.slice(1), {
      stdio: ["ignore", 2, 2],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status !== 0) await stderr.write(`skerry: that failed (status ${status ?? "?"})\n`);
  }
}

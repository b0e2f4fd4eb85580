import type { RunningSandbox } from "skerry/manager";
import { type BenchContext, PYTHON } from "./bench-context.js";

/** Runs a program in the sandbox; anything but this output is an error. */
export async function runPython(sandbox: RunningSandbox, code: string, stdout: string): Promise<void> {
  const result = await sandbox.runCode(code, { language: "python" });
  if (result.success && result.stdout === stdout) return;
  throw new Error(
    `the sandbox answered ${result.error ?? JSON.stringify(result.stdout)}: ${result.stderr.slice(-2000)}`,
  );
}

/** Why the modules cannot be imported by the interpreter that sandboxes see; undefined: they can. */
export async function missingModules(
  bench: BenchContext,
  modules: readonly string[],
): Promise<string | undefined> {
  try {
    await bench.run(PYTHON, ["-c", `import ${modules.join(", ")}`]);
    return undefined;
  } catch {
    return `${PYTHON} cannot import ${modules.join(" and ")}: apt-get install ${modules.map((name) => `python3-${name}`).join(" ")}`;
  }
}

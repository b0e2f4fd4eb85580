import { randomBytes } from "node:crypto";
import { checkCodeSize } from "../../../kit/code-limits.js";
import { SandboxError } from "../../../kit/errors.js";
import type { WorkspaceFiles } from "../../workspace/index.js";
import type { ChangeLog } from "../files/change-log.js";
import type { Language } from "../languages/language.js";
import { harnessFileName, languageForFile } from "../languages/registry.js";

/** A program's source, in the workspace while it runs. */
export interface ProgramFile {
  /** Relative to the workspace. */
  readonly path: string;
  /** Once, however often it is called. Never throws: what the program put in its place is the program's. */
  remove(): Promise<void>;
}

/**
 * Puts the code where its relative imports work: into the workspace, under a name that is free. A file of the
 * session is never overwritten, and the program's own file is not reported as a change.
 */
export async function placeProgram(
  workspace: WorkspaceFiles,
  changes: ChangeLog,
  language: Language,
  code: string,
  { filename, forHarness }: { readonly filename: string | undefined; readonly forHarness: boolean },
): Promise<ProgramFile> {
  checkCodeSize(code);
  const plain = programName(language, filename);
  const wanted = forHarness ? harnessFileName(plain, code) : plain;
  const dot = wanted.lastIndexOf(".");
  const [stem, extension] = [wanted.slice(0, dot), wanted.slice(dot)];
  for (let attempt = 0; ; attempt++) {
    const suffix = attempt === 0 ? "" : attempt < 5 ? `-${attempt}` : `-${randomBytes(4).toString("hex")}`;
    const path = `${stem}${suffix}${extension}`;
    if (!changes.placing(path)) continue;
    try {
      await workspace.writeNew(path, code);
      let removing: Promise<void> | undefined;
      const remove = () => {
        removing ??= removeProgram(workspace, changes, path);
        return removing;
      };
      return { path, remove };
    } catch (error) {
      changes.notPlaced(path);
      if (!(error instanceof SandboxError) || error.code !== "FILE_EXISTS" || attempt > 20) throw error;
    }
  }
}

async function removeProgram(workspace: WorkspaceFiles, changes: ChangeLog, path: string): Promise<void> {
  try {
    await workspace.remove(path);
  } catch {
    // Something else is there now, which was not checked.
    changes.invalidate();
  }
  changes.removed(path);
}

function programName(language: Language, filename = `main${language.extensions[0]}`): string {
  if (filename.includes("/") || filename.startsWith(".") || filename.length > 200) {
    throw new SandboxError("INVALID_ARGUMENT", "A program's file name is one visible name without slashes", {
      hint: 'For example "main.py".',
    });
  }
  const isOwn = languageForFile(filename)?.name === language.name;
  return isOwn ? filename : `${filename}${language.extensions[0]}`;
}

import type { CellLimits } from "../../../wire/index.js";
import type { Language } from "../language.js";
import { PYTHON_TESTS } from "./tests.js";

export const PYTHON: Language = {
  name: "python",
  aliases: ["py", "python3"],
  extensions: [".py"],
  interpreter: "python3",
  install: "apt-get install python3",
  command: (path) => ["python3", path],
  warm: {
    kind: "fork",
    command: (runtime, preload) => zygote(runtime, { preload, standbys: 1 }),
    startupVariables:
      /^(?:PYTHON(?!PATH$|IOENCODING$|UNBUFFERED$)\w*|LD_\w+|MALLOC_\w+|LC_\w+|LANG|LANGUAGE)$/,
    cellCommand: (runtime, { limits, ...settings }) =>
      zygote(runtime, { ...settings, cell: cellSettings(limits) }),
  },
  context: {
    interpreter: ["python3"],
    runner: "python/context/python-context.py",
    copies: true,
    takesInput: true,
  },
  tests: PYTHON_TESTS,
};

/** Without the user's site: its files are the session's, and would run outside of any command. */
function zygote(runtime: string, settings: object): string[] {
  return ["python3", "-s", `${runtime}/python/zygote/python-zygote.py`, JSON.stringify(settings)];
}

/** As guest/runners/python/zygote/zygote-cell.py names them. */
function cellSettings(limits: CellLimits): Record<string, number> {
  const { workspaceBytes, workspaceFiles, temporaryBytes, memoryBytes, processes, fileBytes } = limits;
  const named = {
    workspace_bytes: workspaceBytes,
    workspace_files: workspaceFiles,
    temporary_bytes: temporaryBytes,
    memory_bytes: memoryBytes,
    processes,
    file_bytes: fileBytes,
  };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Math.round(value)]],
    ),
  );
}

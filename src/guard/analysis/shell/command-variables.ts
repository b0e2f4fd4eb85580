/** Variables whose value a shell expands, commands included, when it shows a prompt, traces, or starts. */
export const PROMPT_VARIABLES: ReadonlySet<string> = new Set(["PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV"]);

/** Variables whose value another program, or the shell, runs as a command. */
export const COMMAND_VARIABLES: ReadonlySet<string> = new Set([
  "PROMPT_COMMAND",
  "GIT_SSH_COMMAND",
  "GIT_SSH",
  "GIT_PAGER",
  "GIT_EDITOR",
  "GIT_SEQUENCE_EDITOR",
  "GIT_EXTERNAL_DIFF",
  "GIT_ASKPASS",
  "GIT_PROXY_COMMAND",
  "SSH_ASKPASS",
  "SUDO_ASKPASS",
  "RSYNC_RSH",
  "RSYNC_CONNECT_PROG",
  "CVS_RSH",
  "PAGER",
  "MANPAGER",
  "EDITOR",
  "VISUAL",
  "FCEDIT",
  "BROWSER",
  "LESSOPEN",
  "LESSCLOSE",
]);

/** True for a variable by which a program that is started runs more than its words say. */
export function isCommandVariable(name: string): boolean {
  return COMMAND_VARIABLES.has(name) || PROMPT_VARIABLES.has(name) || runsUnseen(name, undefined);
}

/** True when setting a variable makes something run that is not looked into. */
export function runsUnseen(name: string, value: string | undefined): boolean {
  if (/^(?:BASH_ALIASES|BASH_CMDS|BASH_FUNC_.*|TAR_OPTIONS|GIT_CONFIG.*|MAKEFLAGS|MAKEFILES)$/.test(name))
    return value !== "";
  if (name === "NODE_OPTIONS") return value === undefined || /-r|import|require|loader|eval/.test(value);
  if (name === "PERL5OPT" || name === "RUBYOPT") return value === undefined || /[eEMmr]/.test(value);
  // A file that a shell reads when it starts; many a program takes ENV for a word.
  if (name === "ENV") return value === undefined || value.includes("/");
  return /^(?:BASH_ENV|LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PYTHONSTARTUP)$/.test(name) && value !== "";
}

/** Variables that decide which program a name means, or what is loaded into it. */
export const LOADER_VARIABLES: ReadonlySet<string> = new Set([
  "PATH",
  "LD_PRELOAD",
  "LD_LIBRARY_PATH",
  "LD_AUDIT",
  "BASH_ENV",
  "ENV",
  "PYTHONPATH",
  "PYTHONSTARTUP",
  "PYTHONHOME",
  "NODE_OPTIONS",
  "NODE_PATH",
  "PERL5OPT",
  "PERL5LIB",
  "RUBYOPT",
  "RUBYLIB",
  "GIT_EXEC_PATH",
]);

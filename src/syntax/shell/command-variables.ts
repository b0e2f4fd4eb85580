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

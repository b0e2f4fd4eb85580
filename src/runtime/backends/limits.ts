export interface LimitsConfig {
  readonly memoryMb?: number;
  /** In cores: 0.5 is half of one. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly openFiles?: number;
  readonly fileSizeMb?: number;
  readonly workspaceMb?: number;
  readonly workspaceInodes?: number;
  readonly tmpMb?: number;
  /** Bytes of standard output and standard error together, per execution. */
  readonly outputBytes?: number;
}

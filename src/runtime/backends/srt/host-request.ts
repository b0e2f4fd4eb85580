import type { SandboxRuntimeConfig } from "@anthropic-ai/sandbox-runtime";

/** What host.ts finds in its directory. */
export interface HostRequest {
  readonly settings: SandboxRuntimeConfig;
  /** What runs inside, as a shell's words. */
  readonly command: string;
  readonly openFiles?: number;
  readonly fileSizeMb?: number;
  /** Where programs may write, by the names they know: a write elsewhere is reported. Left out: violations are not watched. */
  readonly writable?: readonly string[];
}

/** Where host.ts says what programs tried, in its directory. */
export const VIOLATIONS_SOCKET = "violations.sock";

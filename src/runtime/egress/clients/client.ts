import type { GuestFile } from "../rules/rules.js";

/** What a client's own configuration on this machine says. */
export interface ClientConfiguration {
  /** As they are written, with whatever credentials they have. */
  readonly urls: readonly string[];
  /** Something else has credentials in it, and is left out. */
  readonly hasPrivateEntries?: boolean;
  /** A setting that would matter, and that is written in a way that is not read. */
  readonly notUnderstood?: string;
  /** Hosts that it asks without being told to, at 443. */
  readonly hosts?: readonly string[];
  /** What it needs inside to ask the same hosts. Nothing of it is private. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files?: readonly GuestFile[];
}

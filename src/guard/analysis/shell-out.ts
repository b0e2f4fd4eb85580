/** A place where a program starts another one. */
export type ShellOut = {
  /** Offset in the program. */
  readonly at: number;
  /** The function: "os.system". */
  readonly via: string;
  /** It reads what the program prints into it. */
  readonly reads?: true;
} & (
  | /** A text that a shell runs; may hold unknown places, undefined: nothing is known of it. */
  { readonly kind: "text"; readonly text: string | undefined }
  /** Words that run as they are. */
  | { readonly kind: "argv"; readonly argv: readonly (string | undefined)[] }
  /** A program in the same language. */
  | { readonly kind: "code"; readonly code: string | undefined }
);

export interface ShellOuts {
  readonly found: readonly ShellOut[];
  /** Where the program makes no sense. */
  readonly problem: { readonly at: number; readonly what: string } | undefined;
}

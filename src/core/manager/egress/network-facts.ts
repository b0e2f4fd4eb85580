/** What can be reached, before any session's own changes. */
export type NetworkFacts =
  | { readonly kind: "none" }
  /** Names of hosts, some with a port. */
  | { readonly kind: "hosts"; readonly hosts: readonly string[] }
  | { readonly kind: "internet" }
  /** A policy says it for every call. */
  | { readonly kind: "policy" };

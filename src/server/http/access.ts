import type { KeyScopes } from "../store/index.js";

/**
 * What a request needs for a route. `anyone`: no key. `read` and `write`: a key of the org, for `write` one that
 * is not read-only. `approve` and `admin`: a key with that scope.
 */
export type Access = "anyone" | "read" | "write" | "approve" | "admin";

/** Routes, such as `GET /v1/sessions`, and what each needs. A route without a row cannot be registered. */
export type AccessRows = Readonly<Record<string, Access>>;

/** The row of a route; undefined: there is none. */
export function accessOf(rows: AccessRows, method: string, url: string): Access | undefined {
  const named = `${method} ${url}`;
  if (Object.hasOwn(rows, named)) return rows[named];
  // The reference's own pages, scripts and pictures.
  return method === "GET" && url.startsWith("/docs/") ? rows["GET /docs/*"] : undefined;
}

/** Whether a key's scopes are enough. */
export function suffices({ readOnly, approve, admin }: KeyScopes, access: Access): boolean {
  switch (access) {
    case "anyone":
    case "read":
      return true;
    case "write":
      return !readOnly;
    case "approve":
      return approve;
    case "admin":
      return admin;
  }
}

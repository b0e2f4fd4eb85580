/** A route as it was registered: `/v1/sessions/:sessionId/files/*`. */
export interface RoutePattern {
  readonly method: string;
  readonly url: string;
}

/** The methods that an address takes; none: there is no such address. */
export function methodsFor(routes: readonly RoutePattern[], url: string): string[] {
  const path = url.replace(/[?#].*$/s, "");
  const found = routes.filter((route) => patternOf(route.url).test(path)).map(({ method }) => method);
  return [...new Set(found)].sort();
}

function patternOf(url: string): RegExp {
  const parts = url.split("/").map((part) => {
    if (part === "*") return ".*";
    return part.startsWith(":") ? "[^/]+" : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("/")}$`, "s");
}

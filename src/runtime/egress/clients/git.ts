import { join } from "node:path";
import type { ClientConfiguration } from "./client.js";
import { hasCredentials, readMirror } from "./mirror.js";
import { parseSections } from "./sections.js";
import { type ClientSources, configHome, variable } from "./sources.js";

/** `codeload` has the archives of github.com. */
const DEFAULT_HOSTS = ["github.com", "codeload.github.com", "gitlab.com", "bitbucket.org"];

/** git over HTTP. Its `insteadOf` goes inside; what leads to SSH does not, which has no way out. */
export function readGit(sources: ClientSources): ClientConfiguration {
  const found = filesOf(sources)
    .flatMap((path) => parseSections(sources.read(path) ?? ""))
    .flatMap(({ section, key, value }) => {
      const isRewrite = section[0]?.toLowerCase() === "url" && key.toLowerCase() === "insteadof";
      return isRewrite && section[1] !== undefined ? [{ base: section[1], from: value }] : [];
    });
  const rewrites = found.filter(({ from }) => !hasCredentials(from));
  const used = rewrites.flatMap(({ base, from }) => {
    const url = readMirror(base)?.url;
    return url === undefined || url === from ? [] : [{ url, from }];
  });
  const pairs = used.flatMap(({ url, from }, index) => [
    [`GIT_CONFIG_KEY_${index}`, `url.${url}.insteadOf`],
    [`GIT_CONFIG_VALUE_${index}`, from],
  ]);
  return {
    urls: rewrites.map(({ base }) => base),
    // Inside nothing is asked for with credentials, so such a rewrite would match nothing there.
    hasPrivateEntries: found.length > rewrites.length,
    // A host that is rewritten as a whole is not asked.
    hosts: DEFAULT_HOSTS.filter(
      (host) => !used.some(({ from }) => from.replace(/\/$/, "") === `https://${host}`),
    ),
    environment: {
      ...(used.length > 0 && { GIT_CONFIG_COUNT: String(used.length) }),
      ...Object.fromEntries(pairs),
    },
  };
}

function filesOf(sources: ClientSources): string[] {
  const own = variable(sources, "GIT_CONFIG_GLOBAL");
  const users = [join(configHome(sources), "git/config"), join(sources.home, ".gitconfig")];
  return ["/etc/gitconfig", ...(own === undefined ? users : [own])];
}

/** One `key = value` of a file, below the header that it stands under. */
export interface SectionEntry {
  /** `["url", "https://mirror.example/"]` of `[url "https://mirror.example/"]`. */
  readonly section: readonly string[];
  readonly key: string;
  readonly value: string;
}

/**
 * Reads what the files of pip, npm, git and cargo have in common: headers, `key = value`, comments, and values that go on in
 * indented lines. Whatever it cannot read is left out.
 */
export function parseSections(text: string): SectionEntry[] {
  const entries: { section: readonly string[]; key: string; value: string }[] = [];
  let section: readonly string[] = [];
  let last: { value: string } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith(";")) continue;
    const header = /^\[((?:"(?:[^"\\]|\\.)*"|[^\]"])+)\]\]?\s*(?:[#;].*)?$/.exec(trimmed);
    const pair = /^([^=:\s][^=]*?)\s*=\s*(.*)$/.exec(trimmed) ?? /^([\w-]+)\s*:\s*(.*)$/.exec(trimmed);
    if (header !== null) {
      section = headerParts(header[1]!);
      last = undefined;
    } else if (/^\s/.test(line) && last !== undefined && !isKey(trimmed)) {
      last.value = `${last.value}\n${trimmed}`.trim();
    } else if (pair !== null) {
      const entry = { section, key: unquoted(pair[1]!), value: unquoted(pair[2]!) };
      entries.push(entry);
      last = entry;
    }
  }
  return entries;
}

/** An indented `key = value` is one in git's files; an address with a query is a value that goes on. */
function isKey(line: string): boolean {
  return /^[\w.-]+\s*=/.test(line);
}

/** `source."my mirror"` (cargo) and `url "https://…"` (git) have two parts. */
function headerParts(header: string): string[] {
  return [...header.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s."']+)/g)].map(
    ([, double, single, bare]) => double?.replace(/\\(.)/g, "$1") ?? single ?? bare ?? "",
  );
}

function unquoted(text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"|^'([^']*)'/.exec(text);
  return quoted === null ? text : (quoted[1] ?? quoted[2] ?? "");
}

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parseStoreUrl } from "./store-url.js";

it.each([
  ["/var/lib/skerry/store.db", "/var/lib/skerry/store.db"],
  ["store.db", resolve("store.db")],
  ["./a:b.db", resolve("a:b.db")],
  ["~/.skerry/store.db", join(homedir(), ".skerry/store.db")],
  ["sqlite:/var/store.db", "/var/store.db"],
  ["sqlite:///var/store.db", "/var/store.db"],
  ["sqlite:store.db", resolve("store.db")],
  ["SQLite:~/store.db", join(homedir(), "store.db")],
])("takes %s for a file", (text, path) => {
  expect(parseStoreUrl(text)).toEqual({ kind: "sqlite", path });
});

it.each([
  "postgres://localhost/skerry",
  "postgresql://user:pass%40word@db.example:5433/skerry?sslmode=require",
  "postgres://user:secret@/skerry?host=/run/postgresql",
  "postgres:///skerry?host=/run/postgresql",
])("takes %s for PostgreSQL", (url) => {
  expect(parseStoreUrl(url)).toEqual({ kind: "postgres", url });
});

it.each([
  ["", "names no file"],
  ["sqlite:", "names no file"],
  ["/var/lib/", "names no file"],
  ["a\0b", "names no file"],
  [":memory:", "keeps nothing"],
  ["sqlite::memory:", "keeps nothing"],
  ["sqlite://host/store.db", "has no host"],
  ["//host/store.db", "has no host"],
  ["mysql://root:hunter2@host/db", '"mysql:" is not a kind of store'],
  ["libsql://hunter2.example", '"libsql:" is not a kind of store'],
  ["file:hunter2.db", '"file:" is not a kind of store'],
  ["https://user:hunter2@host", '"https:" is not a kind of store'],
  ["postgres://user:hunter2@host", "names no database"],
  ["postgres://user:hunter2@host/", "names no database"],
  ["postgres:user:hunter2@host/db", "is not a URL of PostgreSQL"],
  ["postgres://user:hunter2@host:port/db", "is not a URL of PostgreSQL"],
  ["postgres://user:hunter2@ho st/db", "is not a URL of PostgreSQL"],
])("refuses %j without repeating it", (text, why) => {
  const caught = (() => {
    try {
      return parseStoreUrl(text);
    } catch (error) {
      return error;
    }
  })();
  expect(caught).toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(why),
    hint: "Write postgres://user:password@host/database, sqlite:/path/to/file, or the path of a file.",
  });
  expect(String(caught)).not.toContain("hunter2");
});

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { beforeEach, describe } from "vitest";
import { openStore, type Store } from "../../src/server/store/index.js";
import { cleanUp, temporaryDirectory } from "./clean-up.js";
import { requestDaemon } from "./request-daemon.js";
import { requires } from "./requires.js";

/** A new database for each test. */
export interface TestDatabase {
  readonly url: string;
  /** Another store on it, as another process would have one. It is closed after the test. */
  open(): Promise<Store>;
}

/** One suite of behaviour, on a file of SQLite and on a real PostgreSQL. */
export function onBothDatabases(title: string, suite: (database: TestDatabase) => void): void {
  describe(`${title}, in SQLite`, () => suite(createWorld(createFile)));
  requires("postgresql").describe(`${title}, in PostgreSQL`, () => suite(createWorld(createDatabase)));
}

function createWorld(create: () => Promise<{ url: string }>): TestDatabase {
  let url: string;
  beforeEach(async () => {
    ({ url } = await create());
  });
  return {
    get url() {
      return url;
    },
    async open() {
      const store = await openStore({ url });
      cleanUp(() => store.close());
      return store;
    },
  };
}

async function createFile(): Promise<{ url: string }> {
  return { url: join(temporaryDirectory(), "store.db") };
}

/** In the PostgreSQL of the test run; it is dropped after the test or the file. */
export async function createDatabase(): Promise<{ url: string }> {
  const { url } = await requestDaemon<{ url: string }>("postgres");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await command(url, `CREATE DATABASE ${name}`);
  cleanUp(() => command(url, `DROP DATABASE ${name} WITH (FORCE)`));
  return { url: url.replace("/postgres?", `/${name}?`) };
}

async function command(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

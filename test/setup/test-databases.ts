import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe } from "vitest";
import { openStore, type Store } from "../../src/server/store/index.js";
import { temporaryDirectory } from "./clean-up.js";
import { requestDaemon } from "./request-daemon.js";
import { requires } from "./requires.js";

/** A new database for each test. */
export interface TestDatabase {
  readonly url: string;
  /** Another store on it, as another process would have one. It is closed after the test. */
  open(): Promise<Store>;
}

interface TestDatabaseLocation {
  readonly url: string;
  remove(): Promise<void>;
}

/** One suite of behaviour, on a file of SQLite and on a real PostgreSQL. */
export function onBothDatabases(title: string, suite: (database: TestDatabase) => void): void {
  describe(`${title}, in SQLite`, () => suite(createWorld(createFile)));
  requires("postgresql").describe(`${title}, in PostgreSQL`, () => suite(createWorld(createDatabase)));
}

function createWorld(create: () => Promise<TestDatabaseLocation>): TestDatabase {
  let place: TestDatabaseLocation;
  const stores: Store[] = [];
  beforeEach(async () => {
    place = await create();
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await place.remove();
  });
  return {
    get url() {
      return place.url;
    },
    async open() {
      const store = await openStore({ url: place.url });
      stores.push(store);
      return store;
    },
  };
}

async function createFile(): Promise<TestDatabaseLocation> {
  const directory = temporaryDirectory();
  return {
    url: join(directory, "store.db"),
    remove: async () => rmSync(directory, { recursive: true }),
  };
}

/** In the PostgreSQL of the test run. */
export async function createDatabase(): Promise<TestDatabaseLocation> {
  const { url } = await requestDaemon<{ url: string }>("postgres");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await command(url, `CREATE DATABASE ${name}`);
  return {
    url: url.replace("/postgres?", `/${name}?`),
    remove: () => command(url, `DROP DATABASE ${name} WITH (FORCE)`),
  };
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

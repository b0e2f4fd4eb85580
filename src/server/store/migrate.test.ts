import { afterEach, expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { Database } from "./database.js";
import { migrate } from "./migrate.js";
import { MIGRATIONS, type Migration } from "./migrations.js";
import { openDatabase, openStore } from "./open-store.js";

const STEPS: readonly Migration[] = [
  { name: "one", statements: ["CREATE TABLE one (id TEXT PRIMARY KEY)", "INSERT INTO one VALUES ('a')"] },
  { name: "two", statements: ["ALTER TABLE one ADD COLUMN more TEXT", "INSERT INTO one VALUES ('b', 'c')"] },
];

onBothDatabases("migrations", (testDatabases) => {
  const opened: Database[] = [];
  const open = async () => {
    const database = await openDatabase(testDatabases.url);
    opened.push(database);
    return database;
  };
  const applied = (database: Database) =>
    database.query("SELECT version, name FROM skerry_migrations ORDER BY version");

  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });

  it("are applied once, in their order, however many processes start at once", async () => {
    const databases = await Promise.all(Array.from({ length: 5 }, open));
    await Promise.all(databases.map((database) => migrate(database, STEPS)));
    expect(await databases[0]!.query("SELECT * FROM one ORDER BY id")).toEqual([
      { id: "a", more: null },
      { id: "b", more: "c" },
    ]);
    expect(await applied(databases[1]!)).toEqual([
      { version: 1, name: "one" },
      { version: 2, name: "two" },
    ]);
  });

  it("go on from where the database is", async () => {
    const database = await open();
    await migrate(database, STEPS.slice(0, 1));
    await database.run("DELETE FROM one");
    await migrate(database, STEPS);
    expect(await database.query("SELECT * FROM one")).toEqual([{ id: "b", more: "c" }]);
  });

  it("that fail leave nothing of themselves, and what was before", async () => {
    const database = await open();
    const broken = {
      name: "broken",
      statements: ["CREATE TABLE half (id TEXT)", "CREATE TABLE one (id TEXT)"],
    };
    await expect(migrate(database, [STEPS[0]!, broken])).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await applied(database)).toEqual([{ version: 1, name: "one" }]);
    await expect(database.query("SELECT * FROM half")).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await database.query("SELECT * FROM one")).toEqual([{ id: "a" }]);
  });

  it("of a newer Skerry are refused, and nothing is changed", async () => {
    const database = await open();
    const newer = [...MIGRATIONS, { name: "newer", statements: ["CREATE TABLE newer (id TEXT)"] }];
    await migrate(database, newer);
    const before = await applied(database);
    await expect(openStore({ url: testDatabases.url })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: `The store has a newer schema (${newer.length}) than this Skerry knows (${MIGRATIONS.length})`,
      hint: "Update Skerry, or give it another database. Nothing was changed.",
    });
    expect(await applied(database)).toEqual(before);
  });

  it("compare texts byte by byte on either database", async () => {
    const database = await open();
    await migrate(database, STEPS.slice(0, 1));
    for (const id of ["B", "Z", "ä", "_", "10", "9"]) await database.run("INSERT INTO one VALUES (?)", [id]);
    const rows = await database.query<{ id: string }>("SELECT id FROM one ORDER BY id");
    expect(rows.map(({ id }) => id)).toEqual(["10", "9", "B", "Z", "_", "a", "ä"]);
  });
});

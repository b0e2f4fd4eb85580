import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import { openDatabase } from "./open-store.js";
import type { KeyScopes } from "./records.js";

const SCOPES: KeyScopes = { roles: ["code_assistant"], readOnly: false, approve: true, admin: false };

onBothDatabases("API keys", (databases) => {
  it("are found by their secret, which is told once and kept as a hash", async () => {
    const store = await databases.open();
    const before = Date.now();
    const { key, secret } = await store.apiKeys.create("acme", { name: "ci", scopes: SCOPES });
    expect(key).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      org: "acme",
      name: "ci",
      scopes: SCOPES,
      createdAt: expect.any(Number),
      expiresAt: undefined,
      revokedAt: undefined,
      lastUsedAt: undefined,
    });
    expect(key.createdAt).toBeGreaterThanOrEqual(before);
    expect(secret).toMatch(new RegExp(`^sk_${key.id}_[\\w-]{43}$`));
    expect(await store.apiKeys.find(secret)).toEqual(key);
    expect(JSON.stringify(await store.apiKeys.list("acme"))).not.toMatch(/hash|[0-9a-f]{64}/i);
    expect(await (await databases.open()).apiKeys.find(secret)).toMatchObject({ id: key.id });
    const database = await openDatabase(databases.url);
    const rows = await database.query("SELECT * FROM api_keys");
    await database.close();
    expect(JSON.stringify(rows)).not.toContain(secret.split("_").slice(2).join("_"));
  });

  it("are listed by org, the latest first, and say when they were used last to within minutes", async () => {
    const { apiKeys } = await databases.open();
    const first = await apiKeys.create("acme", { name: "a", scopes: { ...SCOPES, roles: "all" } });
    const second = await apiKeys.create("acme", { name: "b", scopes: SCOPES, expiresAt: 4e12 });
    await apiKeys.create("other", { name: "c", scopes: SCOPES });
    await apiKeys.find(first.secret);
    const keys = await apiKeys.list("acme");
    expect(keys.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { ...first.key, lastUsedAt: expect.any(Number) },
      second.key,
    ]);
    await apiKeys.find(first.secret);
    expect(await apiKeys.list("acme")).toEqual(keys);
  });

  it("are of no use once revoked, and only their own org revokes them", async () => {
    const { apiKeys } = await databases.open();
    const { key, secret } = await apiKeys.create("acme", { name: "ci", scopes: SCOPES });
    expect(await apiKeys.revoke("other", key.id)).toBe(false);
    expect(await apiKeys.find(secret)).toMatchObject({ id: key.id });
    expect(await apiKeys.revoke("acme", key.id)).toBe(true);
    expect(await apiKeys.revoke("acme", key.id)).toBe(false);
    expect(await apiKeys.find(secret)).toBeUndefined();
  });

  it("are not found by anything but the whole secret, whatever is wrong with it", async () => {
    const { apiKeys } = await databases.open();
    const { secret } = await apiKeys.create("acme", { name: "ci", scopes: SCOPES });
    const expired = await apiKeys.create("acme", {
      name: "old",
      scopes: SCOPES,
      expiresAt: Date.now() - 1,
    });
    const last = secret.endsWith("A") ? "B" : "A";
    const wrong = [
      secret.slice(0, -1) + last,
      secret.slice(0, -1),
      `${secret}A`,
      ` ${secret}`,
      secret.toUpperCase(),
      secret.replace(/^sk_.{24}/, `sk_${"0".repeat(24)}`),
      expired.secret,
      "",
      "sk__",
      "' OR 1=1 --",
      "\0",
    ];
    const found = await Promise.all(wrong.map((each) => apiKeys.find(each)));
    expect(found).toEqual(wrong.map(() => undefined));
  });

  it("give no right when their scopes in the database are not clear", async () => {
    const { apiKeys } = await databases.open();
    const { secret } = await apiKeys.create("acme", { name: "ci", scopes: SCOPES });
    const database = await openDatabase(databases.url);
    await database.run("UPDATE api_keys SET scopes = ?", ['{"roles":"all","admin":true}']);
    await database.close();
    await expect(apiKeys.find(secret)).rejects.toMatchObject({ code: "STORE_FAILED" });
  });

  it("have a first one, which of many servers that start at once one makes", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => databases.open()));
    const made = await Promise.all(
      stores.flatMap((store) =>
        ["a", "b"].map((name) => store.apiKeys.createFirst("acme", { name, scopes: SCOPES })),
      ),
    );
    expect(made.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await stores[0]!.apiKeys.list("acme")).toHaveLength(1);
  });
});

import { expect, it } from "vitest";
import { fromRow } from "./rows.js";

it("tells of a row only the members that a record has", () => {
  const row = { id: "1", ended_at: null, started_at: 2, info: '{"a":[1]}', secret_hash: "a hash" };
  const members = { id: "plain", endedAt: "plain", startedAt: "plain", info: "json" } as const;
  expect(fromRow(row, members)).toStrictEqual({
    id: "1",
    endedAt: undefined,
    startedAt: 2,
    info: { a: [1] },
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { createBody } from "../../../guard/audit/compose-record.js";
import type { AuditRecord } from "../../../guard/audit/index.js";
import { localTime } from "../../output/local-time.js";
import { auditHeader, auditRow } from "./audit-row.js";

const plain = (_: string, text: string) => text;
const AT = new Date("2026-02-07T12:00:00Z");
const record = (fields: Partial<AuditRecord> = {}): AuditRecord => ({
  ...createBody("id", AT),
  hash: "",
  seq: 12,
  ...fields,
});

it("shows an attempt in one line under its header", () => {
  const denied = record({
    result: "denied",
    tool: "shell_exec",
    session_id: "work",
    command: "curl http://x",
    risk_level: "high",
    error: "curl is not allowed",
  });
  expect(auditHeader(plain) + auditRow(denied, plain)).toBe(
    "    SEQ  TIME                 RESULT        TOOL         SESSION               WHAT\n" +
      `     12  ${localTime(AT.toISOString())}  denied        shell_exec   work                  ` +
      "curl http://x · risk high · curl is not allowed\n",
  );
});

it("names code by its language and hash, and does not repeat that it went well", () => {
  const row = auditRow(
    record({
      result: "success",
      language: "python",
      code_hash: `sha256:${"a".repeat(64)}`,
      risk_level: "safe",
    }),
    plain,
  );
  expect(row).toMatch(/ {2}success {7}- {12}- {21}python sha256:aaaaaaaaaaaa\n$/);
});

it("names an event that is no attempt, with its details", () => {
  const row = auditRow(
    record({ event_type: "resource_alert", details: { percent: 93, resource: "memory" } }),
    plain,
  );
  expect(row).toContain("resource_al…");
  expect(row).toContain("percent=93 resource=memory\n");
});

it("paints the result only", () => {
  const painted = auditRow(
    record({ result: "success", command: "ls" }),
    (style, text) => `<${style}>${text}</>`,
  );
  expect(painted).toContain("  <green>success     </>  ");
});

it("is one line in which nothing acts, whatever the record says", () => {
  const text = fc.string({ unit: "binary", maxLength: 300 });
  const hostile = fc.record({
    command: fc.option(text),
    error: fc.option(text),
    session_id: fc.option(text),
    tool: fc.option(text),
    event_type: text,
    risk_level: fc.option(text),
    timestamp: text,
    details: fc.option(fc.dictionary(text, text, { maxKeys: 3 })),
  });
  fc.assert(
    fc.property(hostile, (fields) => {
      const row = auditRow(record(fields), plain);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(row.slice(0, -1)).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
      expect(row.endsWith("\n")).toBe(true);
      expect([...row].length).toBeLessThan(260);
    }),
  );
});

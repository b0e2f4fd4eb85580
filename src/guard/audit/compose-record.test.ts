import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, type Json } from "../../kit/canonical-json.js";
import { createBody, fillBody } from "./compose-record.js";
import type { AuditFields } from "./record.js";
import { createRedactor } from "./redact.js";
import { GENESIS, MAX_LINE_BYTES, sealRecord, unsealRecord } from "./sealed-record.js";

const how = { redact: createRedactor(), includeCode: true };
const compose = (fields: unknown, options = how) =>
  fillBody(createBody("id", new Date(0)), fields as AuditFields, options);
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

describe("a record", () => {
  it("has every key, in the order of canonical JSON, with null for what is not known", () => {
    const body = compose({});
    expect(Object.keys(body)).toEqual(Object.keys(body).toSorted());
    expect(body).toMatchObject({
      timestamp: "1970-01-01T00:00:00.000Z",
      event_type: "sandbox_execution",
      session_id: null,
      agent_id: null,
      org_id: null,
      sandbox_id: null,
      tool: null,
      language: null,
      code_hash: null,
      execution_time_ms: null,
      exit_code: null,
      memory_used_mb: null,
      cpu_time_ms: null,
      network_bytes_sent: null,
      network_bytes_recv: null,
      files_read: null,
      files_written: null,
      result: null,
      error: null,
    });
  });

  it("has the hash of the code, and the code itself only where that was asked for", () => {
    const code = "print('password=hunter2')";
    expect(compose({ code })).toMatchObject({
      code_hash: sha256(code),
      code: "print('password=[redacted]')",
    });
    expect(compose({ code }, { ...how, includeCode: false })).toMatchObject({
      code_hash: sha256(code),
      code: null,
    });
    expect(compose({ command: "ls -l" })).toMatchObject({ code_hash: sha256("ls -l"), command: "ls -l" });
    expect(compose({ code, command: "ls" })).toMatchObject({ code_hash: sha256(code), command: "ls" });
  });

  it("takes what is not of the right kind for unknown", () => {
    const body = compose({
      sessionId: { toString: () => "x" },
      exitCode: "0",
      executionTimeMs: Number.NaN,
      cpuTimeMs: Number.POSITIVE_INFINITY,
      memoryUsedMb: 1e300,
      networkBytesSent: 1.00049,
      filesRead: "/etc/passwd",
      filesWritten: ["a", 7, null, "b"],
      details: JSON.parse(
        '{"__proto__": {"polluted": 1}, "constructor": "x", "ok": true, "n": 1e999, "weird key": 1}',
      ),
    });
    expect(body).toMatchObject({
      session_id: null,
      exit_code: null,
      execution_time_ms: null,
      cpu_time_ms: null,
      memory_used_mb: null,
      network_bytes_sent: 1,
      files_read: null,
      files_written: ["a", "b"],
      files_left_out: 2,
      details: { constructor: "x", n: null, ok: true },
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("is capped, and says how much there was", () => {
    const body = compose({
      sessionId: "s".repeat(10_000),
      error: "e".repeat(1_000_000),
      filesRead: Array.from({ length: 1500 }, (_, index) => `/f${index}`),
      filesWritten: Array.from({ length: 900 }, () => "p".repeat(100_000)),
      findings: Array.from({ length: 5000 }, () => "rule"),
    });
    expect(body.session_id).toBe(`${"s".repeat(256)} [cut, 10000 characters]`);
    expect(body.error).toBe(`${"e".repeat(2000)} [cut, 1000000 characters]`);
    expect(body.files_read).toHaveLength(1000);
    expect(body.files_written!.join("").length).toBeLessThan(270_000);
    expect(body.files_left_out).toBe(500 + 900 - body.files_written!.length);
    expect(body.findings).toHaveLength(1000);
  });

  it("does not keep half of a character or half of a secret at the cut", () => {
    const secret = `ghp${"_"}${"a1B2c3D4e5".repeat(4)}`;
    expect(compose({ error: `${"e".repeat(1999)}😀😀` }).error).toBe(
      `${"e".repeat(1999)} [cut, 2003 characters]`,
    );
    expect(compose({ error: `${"e ".repeat(990)} ${secret} ${"x".repeat(9000)}` }).error).not.toContain(
      secret.slice(0, 12),
    );
    // The cut before the look at it goes through the secret, and what comes before it is gone after the look.
    const long = `${`password=${"y".repeat(2000)} `.repeat(3)}${"z ".repeat(23)}${secret}`;
    expect(compose({ error: long }).error).not.toContain(secret.slice(0, 12));
  });

  it("fits into a line that can be read back as it was sealed, whatever is in it", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u202e\u0007\u2028\r\n", "\ud800", '","hash":"', '\\"}', "\u0000".repeat(5000)),
    );
    const fields = fc.record({
      sessionId: text,
      command: text,
      code: text,
      error: text,
      filesRead: fc.array(text),
      details: fc.dictionary(text, fc.oneof(text, fc.double(), fc.boolean())),
      executionTimeMs: fc.double(),
    });
    fc.assert(
      fc.property(fields, (value) => {
        const { record, line } = sealRecord(compose(value), 1, GENESIS);
        expect(line).toMatch(/^[\x20-\x7e]+\n$/);
        expect(unsealRecord(Buffer.from(line.slice(0, -1), "latin1"))).toEqual(record);
      }),
      { numRuns: 200 },
    );
  });

  it("is no longer than a reader takes, at its very largest", () => {
    const wide = "\u202e".repeat(1_000_000);
    const paths = Array.from({ length: 2000 }, () => wide);
    const details = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, wide]));
    const fields = {
      code: wide,
      command: wide,
      error: wide,
      filesRead: paths,
      filesWritten: paths,
      filesDeleted: paths,
    };
    const { line } = sealRecord(
      compose({ ...fields, findings: paths, details, sessionId: wide }),
      1,
      GENESIS,
    );
    expect(line.length).toBeLessThan(MAX_LINE_BYTES);
  });
});

describe("a sealed line", () => {
  const { line } = sealRecord(compose({ sessionId: "s", error: "é" }), 1, GENESIS);
  const text = line.slice(0, -1);
  const unseal = (changed: string) => unsealRecord(Buffer.from(changed, "latin1"));

  it("is not one after any of its bytes is changed", () => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const bytes = Buffer.from(text, "latin1");
        bytes[at] = (bytes[at]! + by) % 256;
        expect(unsealRecord(bytes)).toBeUndefined();
      }),
    );
  });

  it.each([
    ["white space", text.replace('":', '": ')],
    ["another escape", text.replace("\\u00e9", "\\u00E9")],
    ["a key twice", text.replace('"error":', '"error":null,"error":')],
    ["keys in another order", text.replace(/("agent_id":null),("backend":null)/, "$2,$1")],
  ])("is not one with %s, even with a hash that fits", (_, changed) => {
    expect(changed).not.toBe(text);
    const hashed = `${changed.slice(0, -75)}}`;
    const hash = createHash("sha256").update(hashed).digest("hex");
    expect(unseal(`${hashed.slice(0, -1)},"hash":"${hash}"}`)).toBeUndefined();
  });

  it("is checked against canonical JSON, so that others can check it too", () => {
    const { hash, ...hashed } = unseal(text)!;
    expect(
      createHash("sha256")
        .update(canonicalJson(hashed as unknown as Json))
        .digest("hex"),
    ).toBe(hash);
  });
});

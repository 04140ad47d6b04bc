/** The bytes of a record: canonical for any data, hashed as in the reference, with the name of its key. */

import assert from "node:assert/strict";
import { createHash, verify } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { NO_HASH, publicKeyOf, thumbprintOf } from "../../../src/server/audit/audit-record.ts";
import { createChain } from "../../../src/server/audit/chain.ts";
import { eventText } from "../../../src/server/audit/fit-event.ts";
import { type AuditEvent, MAX_RECORD_BYTES } from "../../../src/server/audit/index.ts";
import { generateKey } from "../../../src/server/audit/key-file.ts";
import { AT, makeTrail } from "./support/trails.ts";

const key = generateKey();
const lineOf = (event: AuditEvent): string => createChain("n1", key, undefined).appendText(eventText(event), AT).line;

test("a record has the members of the reference in canonical form", () => {
  const line = lineOf({ event: "access.decision", controls: ["AC-3"], data: { z: 1, a: { y: [true, null], b: "é" } } });
  const { hash, sig, ...rest } = JSON.parse(line);
  assert.deepEqual(rest, {
    audit: 1,
    node: "n1",
    kid: key.kid,
    seq: 0,
    prev: NO_HASH,
    ts: "2026-11-20T12:00:00.123Z",
    event: "access.decision",
    controls: ["AC-3"],
    data: { a: { b: "é", y: [true, null] }, z: 1 },
  });
  assert.equal(NO_HASH, Buffer.alloc(32).toString("base64url"));
  assert.equal(line, canonicalize({ ...rest, hash, sig }));
});

test("names in any order make the same record, including names that JSON reorders", () => {
  const nested = { b: 1, a: [{ d: "\\ud800 is no half", c: null }] };
  const names = ["z", "é", "A", "10", "9", "a", "\u{1f600}", "\uffff"];
  const data = (order: readonly string[]) => Object.fromEntries(order.map((name) => [name, nested]));
  const line = lineOf({ event: "access.decision", data: data(names) });
  assert.equal(line, canonicalize(JSON.parse(line)));
  for (const order of [names.toSorted(), names.toReversed()]) {
    assert.equal(lineOf({ event: "access.decision", data: data(order) }), line);
  }
});

test("the hash covers the domain and all members except hash and signature; the signature covers the hash", () => {
  const { hash, sig, ...rest } = JSON.parse(lineOf({ event: "admin.write", data: { by: "unix:0" } }));
  const digest = createHash("sha256")
    .update(`gateway/audit/v1\n${canonicalize(rest)}`)
    .digest();
  assert.equal(hash, digest.toString("base64url"));
  assert.ok(verify(null, digest, publicKeyOf(key.raw), Buffer.from(sig, "base64url")));
});

test("records are linked: each has the hash of the previous one", () => {
  const records = makeTrail({ records: 4 }).lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ seq }) => seq),
    [0, 1, 2, 3],
  );
  assert.deepEqual(
    records.map(({ prev }) => prev),
    [NO_HASH, ...records.slice(0, 3).map(({ hash }) => hash)],
  );
});

test("a key is named by its thumbprint (RFC 8037, A.3)", () => {
  const raw = Buffer.from("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "base64url");
  assert.equal(thumbprintOf(raw), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
});

const anyEvent = fc.record({
  event: fc.constant("guardrail.decision" as const),
  controls: fc.array(fc.string({ unit: "binary", maxLength: 200 }), { maxLength: 40 }),
  data: fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary", maxDepth: 6 })),
});

test("any event becomes one canonical line within the size limit", () => {
  fc.assert(
    fc.property(anyEvent, ({ data, ...event }) => {
      const line = lineOf({ ...event, data: data as AuditEvent["data"] });
      assert.ok(Buffer.byteLength(line) < MAX_RECORD_BYTES);
      assert.ok(line.isWellFormed() && !line.includes("\n"));
      assert.equal(line, canonicalize(JSON.parse(line)));
    }),
  );
});

const hostile: readonly (readonly [what: string, data: () => Record<string, unknown>])[] = [
  ["lone surrogates", () => ({ text: "a\ud800b", "\udc00": 1 })],
  ["values that are not numbers", () => ({ a: Number.NaN, b: Number.POSITIVE_INFINITY })],
  ["a text of a megabyte", () => ({ text: "x".repeat(1 << 20), after: 1 })],
  ["a text in which every character is escaped", () => ({ text: "\u0001".repeat(100_000) })],
  ["a list of a million", () => ({ list: Array.from({ length: 1_000_000 }, (_, at) => at) })],
  ["an object with many names", () => Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`name${at}`, at]))],
  ["a name of a megabyte", () => ({ ["n".repeat(1 << 20)]: 1 })],
  [
    "a cycle",
    () => {
      const data: Record<string, unknown> = {};
      data["self"] = data;
      return data;
    },
  ],
  [
    "deep nesting",
    () => {
      let data: Record<string, unknown> = {};
      for (let at = 0; at < 20_000; at++) data = { data };
      return data;
    },
  ],
  ["a value that JSON cannot express", () => ({ big: 10n, call: () => 1, symbol: Symbol("s"), none: undefined })],
  [
    "a getter that throws",
    () => ({
      get bad(): string {
        throw new Error("no");
      },
    }),
  ],
  ["a name of the prototype", () => JSON.parse('{"__proto__":{"a":1},"constructor":2}')],
];

for (const [what, data] of hostile) {
  test(`${what} in an event does not throw and is recorded as far as it fits`, () => {
    const line = lineOf({ event: "access.decision", data: data() as AuditEvent["data"] });
    assert.ok(Buffer.byteLength(line) < MAX_RECORD_BYTES);
    assert.equal(line, canonicalize(JSON.parse(line)));
    assert.equal(lineOf({ event: "access.decision", data: data() as AuditEvent["data"] }), line);
  });
}

test("long values are cut first, with a mark; short ones are kept", () => {
  const data = { long: "é".repeat(5_000), rule: "no-exports", list: Array.from({ length: 9 }, (_, at) => at) };
  const record = JSON.parse(lineOf({ event: "access.decision", data }));
  assert.deepEqual({ ...record.data, long: "" }, { ...data, long: "" });
  assert.match(record.data.long, /^é{900,}…$/);
});

test("events that share a template encode as without it, whatever text of the request they contain", () => {
  const textsOf = (requests: readonly string[], dataOf: (request: string) => AuditEvent["data"]): void => {
    const template = {};
    for (const request of requests) {
      const event: AuditEvent = { event: "access.decision", controls: ["AC-3"], data: dataOf(request) };
      assert.equal(eventText({ ...event, prepared: { template, request } }), eventText(event), request);
    }
  };
  const requests = ["r1", "r2", "data", "access.decision", 'r"3', "r1", "r\u00e9", "r4".repeat(100), "r1"];
  textsOf(requests, (request) => ({ key: "k", request, rule: "x" }));
  // The request's text as the value of another member, before and after it.
  textsOf(requests, (request) => ({ key: "r1", request, rule: "x" }));
  textsOf(requests, (request) => ({ key: "k", request, rule: "r1" }));
  // The request's text as a member name.
  textsOf(requests, (request) => ({ r1: "k", request, rule: "x" }));
  textsOf(["rule", "r2"], (request) => ({ key: "k", request, rule: "x" }));
  // Longer than the limit of a template.
  textsOf(requests, (request) => ({ key: "k".repeat(3_000), request, rule: "x" }));
});
